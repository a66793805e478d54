"""The judge: compares what was published with what the simulator received. No I/O; docs/chaos.md explains its rules."""

import bisect
import collections
from dataclasses import dataclass, field

EVER = float("inf")


@dataclass(frozen=True)
class Limits:
    """Seconds; what a worker promises, and what a busy machine adds to it."""

    # Outcomes are stored at least so often, answers come so much later than requests, and a busy machine adds so much
    # (and twice what a trifle took the simulator then).
    stored: float = 0.1
    answer: float = 0.02
    slack: float = 0.5
    # What a stopped process had handed over comes so soon after it goes on.
    late: float = 0.25
    # After Redis is back, or a connection to it was cut, a worker is back after so long.
    recovery: float = 2.5
    # Redis with `everysec` may lose what was written in some seconds before it died, and more if it stood still.
    unsynced: float = 20.0
    # A message heard by a worker that runs on for so long is written by it at the latest then (5 s and a beat).
    memory: float = 6.5
    # How long Redis may count a subscriber whose process is dead.
    undead: float = 0.3


@dataclass(frozen=True)
class Publication:
    """One PUBLISH or XADD. Equal messages share their number."""

    number: int
    channel: str
    is_xadd: bool
    begin: float
    end: float
    # Of PUBLISH: how many subscribers Redis sent it to. Of XADD: 1. None: no answer came, so perhaps it happened.
    receivers: int | None


@dataclass(frozen=True, slots=True)
class Reception:
    """One request that a provider has taken; `sender` is the worker."""

    number: int
    place: str
    device: str
    sender: str
    time: float
    status: int
    apns_id: str | None


@dataclass
class Verdict:
    """The figures, and an example or two of each kind."""

    figures: collections.Counter = field(default_factory=collections.Counter)
    allowed: collections.Counter = field(default_factory=collections.Counter)
    examples: dict = field(default_factory=dict)
    messages: int = 0
    counted: int = 0
    # Of the messages that do not count, those that arrived whole all the same.
    others: int = 0
    pushes: int = 0
    received: int = 0

    def found(self, kind, text, count=1):
        self.figures[kind] += count
        self.examples.setdefault(kind, [])
        if len(self.examples[kind]) < 20:
            self.examples[kind].append(text)


LOST = "lost"
CALM = "repeated without a crash"
BEYOND = "repeated beyond those in flight"
IDENTITY = "repeated with another apns-id"
UNKNOWN = "never published"
REFUSED = "refused by the provider"


class Judge:
    """Decides for each publication whether it counts, and for each repeated push whether a fault excuses it."""

    def __init__(self, history, limits=Limits()):
        self.history = history
        self.limits = limits
        self.crashes = history.crashes()
        self.pulses = sorted(history.pulses)

    def slack(self, time):
        """What the machine added around that time."""
        return self.limits.slack + 2 * self.lag(time)

    def lag(self, time):
        """The longest that the simulator took around that time to say anything."""
        first = bisect.bisect_left(self.pulses, (time - 30,))
        last = bisect.bisect_right(self.pulses, (time + 1.5,))
        lags = [seconds for begin, seconds in self.pulses[first:last] if begin + seconds >= time - 0.5]
        return max(lags, default=0)

    def in_flight(self, time):
        """How long before that time a push may have been received whose outcome is not stored."""
        return self.limits.stored + self.limits.answer + self.slack(time)

    # Which publications count.

    def is_certain(self, publication, rank=0):
        """Whether its pushes must arrive; `rank` equal ones were published before it."""
        if publication.receivers is None:
            return False
        if publication.is_xadd:
            return all(crash.survivors.get(publication.number, 0) > rank for crash in self.crashes
                       if crash.begin - self.limits.unsynced <= publication.end <= crash.begin)
        return self.is_heard_and_kept(publication)

    def is_heard_and_kept(self, publication):
        """Whether a worker that lived on has heard it: more subscribers got it than there were ones that did not."""
        near = 0.1
        if any(publication.begin - near <= cut <= publication.end + near for cut in self.history.cuts):
            return False
        if any(outage.begin - 2 * near <= publication.end and publication.begin <= (outage.end or EVER)
               for outage in self.history.outages):
            return False
        doubtful = sum(self.may_hear(life, publication) and not self.keeps(life, publication)
                       for life in self.history.lives.values())
        return publication.receivers > doubtful

    def may_hear(self, life, publication):
        gone = min(life.killed or EVER, life.ended or EVER)
        return life.started <= publication.end and publication.begin <= gone + self.limits.undead

    def keeps(self, life, publication):
        """Whether the worker, if it heard it, was able to see to it."""
        if life.terminated is not None and life.terminated <= publication.end + 0.1:
            return False
        if any(begin - 0.1 <= publication.end and publication.begin <= (end or EVER) for begin, end in life.stops):
            return False
        # It left cleanly, and then Redis lost what had been written: nobody is there who remembers.
        if life.killed is None and life.ended is not None and any(
                crash.begin - crash.lost - self.limits.slack <= life.ended <= crash.begin + 1 for crash in self.crashes):
            return False
        return self.running_until(life, publication.end, self.limits.memory) < (life.killed or EVER)

    def running_until(self, life, begin, seconds):
        """When a worker has run for so long, not counting what it stood still or was without Redis."""
        end = begin + seconds
        pauses = [(start, stop or EVER) for start, stop in life.stops]
        pauses += [(outage.begin, (outage.end or EVER) + self.limits.recovery) for outage in self.history.outages]
        pauses += [(cut, cut + self.limits.recovery) for cut in self.history.cuts]
        for start, stop in sorted(pauses):
            if stop > begin and start < end:
                end += stop - max(start, begin)
        return end

    # Which repeats are excused.

    def unsaved_since(self, time):
        """Pushes that were sent before this are stored in Redis at `time`, whoever sent them."""
        since = time - self.in_flight(time)
        troubles = [(outage.begin, (outage.end or EVER) + self.limits.recovery) for outage in self.history.outages]
        troubles += [(cut, cut + self.limits.recovery) for cut in self.history.cuts]
        for begin, end in sorted(troubles, reverse=True):
            if begin <= time and since <= end:
                since = min(since, begin - self.in_flight(begin))
        return since

    def excuse(self, first, second):
        """The fault that allows `second` after `first`, both the same push; None: there is none."""
        life = self.history.lives.get(first.sender)
        if life and life.killed is not None and self.is_under_way(first, life.killed):
            return "killed"
        for begin, end in life.stops if life else []:
            if self.is_under_way(first, begin):
                return "stopped"
        for begin, end in self.history.drops:
            if begin - self.limits.answer - self.slack(begin) <= first.time <= end:
                return "dropped by the provider"
        for crash in self.crashes:
            since = self.unsaved_since(crash.begin - crash.lost)
            if since <= first.time <= (crash.end or EVER) + self.limits.recovery:
                return "Redis crashed"
        return self.late_output(first, second)

    def is_under_way(self, push, end):
        """Whether a worker whose last moment that was may have sent it without storing its outcome."""
        return self.unsaved_since(end) <= push.time <= end + self.slack(end)

    def late_output(self, first, second):
        """What a stopped process had handed to its connection leaves when it goes on, though others have sent it."""
        life = self.history.lives.get(second.sender)
        for begin, end in life.stops if life and second.sender != first.sender else []:
            if end is not None and begin <= first.time and end <= second.time <= end + self.limits.late + self.lag(end):
                return "late output of a stopped worker"
        return None

    def had_a_crash(self, first, second):
        """Whether anything happened from shortly before the first to the second that could explain it to a doubter."""
        begin, end = first.time - 5, second.time
        life = self.history.lives.get(first.sender)
        times = [crash.begin for crash in self.crashes] + [begin for begin, _ in self.history.drops]
        if life:
            times += [life.killed] if life.killed is not None else []
            times += [begin for begin, _ in life.stops]
        return any(begin <= time <= end for time in times)

    # The whole.

    def judge(self, publications, channels, receptions, retried=(429, 500, 503)):
        """`channels`: for each channel the set of its (place, device). `retried`: statuses that were asked for."""
        verdict = Verdict(messages=len(publications))
        messages = collections.defaultdict(list)
        for publication in publications:
            messages[publication.number].append(publication)
        pushes = self.sort(receptions, messages, channels, verdict, retried)
        for number, copies in messages.items():
            certain = sum(self.is_certain(copy, rank) for rank, copy in enumerate(copies))
            verdict.counted += certain
            fewest = len(copies)
            for place, device in channels[copies[0].channel]:
                found = pushes.get((number, place, device), [])
                verdict.pushes += certain
                fewest = min(fewest, len({push.apns_id or index for index, push in enumerate(found)}))
                self.judge_push(f"{number} on {copies[0].channel} to {place} {device}", found, certain, len(copies), verdict)
            verdict.others += max(0, fewest - certain)
        return verdict

    @staticmethod
    def sort(receptions, messages, channels, verdict, retried):
        pushes = collections.defaultdict(list)
        for reception in receptions:
            verdict.received += 1
            copies = messages.get(reception.number)
            if not copies or (reception.place, reception.device) not in channels[copies[0].channel]:
                verdict.found(UNKNOWN, f"{reception}")
            elif reception.status == 200:
                pushes[reception.number, reception.place, reception.device].append(reception)
            elif reception.status not in retried:
                verdict.found(REFUSED, f"{reception}")
        return pushes

    def judge_push(self, what, found, certain, possible, verdict):
        if len(found) == certain == possible == 1:
            return
        found.sort(key=lambda reception: reception.time)
        identities = collections.defaultdict(list)
        for reception in found:
            identities[reception.apns_id].append(reception)
        if None in identities:
            return self.judge_unnamed(what, found, certain, possible, verdict)
        if len(identities) < certain:
            verdict.found(LOST, f"{what}: {len(identities)} of {certain}; {self.show(found)}", certain - len(identities))
        if len(identities) > possible:
            verdict.found(IDENTITY, f"{what}: {len(identities)} ids of {possible}; {self.show(found)}",
                          len(identities) - possible)
        for group in identities.values():
            for first, second in zip(group, group[1:]):
                self.judge_repeat(what, first, second, verdict)

    def judge_unnamed(self, what, found, certain, possible, verdict):
        """FCM has no ids: only the number counts, and each of those too many needs an excuse."""
        if len(found) < certain:
            verdict.found(LOST, f"{what}: {len(found)} of {certain}; {self.show(found)}", certain - len(found))
        pairs = sorted(zip(found, found[1:]), key=lambda pair: self.excuse(*pair) is None)
        for first, second in pairs[:max(0, len(found) - possible)]:
            self.judge_repeat(what, first, second, verdict)

    def judge_repeat(self, what, first, second, verdict):
        excuse = self.excuse(first, second)
        if excuse:
            verdict.allowed[excuse] += 1
        else:
            kind = BEYOND if self.had_a_crash(first, second) else CALM
            verdict.found(kind, f"{what}: {self.show([first, second])}")

    @staticmethod
    def show(receptions):
        return ", ".join(f"{reception.time:.3f} by {reception.sender} {reception.apns_id or ''}" for reception in receptions)
