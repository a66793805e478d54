"""What was done to whom, and when: workers' lives, Redis' crashes, lost connections. All times are unix seconds."""

from dataclasses import dataclass, field


@dataclass
class Life:
    """One worker process, by the name with which the simulator knows it."""

    name: str
    started: float
    killed: float | None = None
    terminated: float | None = None
    ended: float | None = None
    # Pairs of (stopped, continued); the second is None while it stands still.
    stops: list = field(default_factory=list)

    def dead_at(self):
        """When it was gone, if not by its own decision; None: never, or cleanly."""
        return self.killed


@dataclass
class Outage:
    """Redis was not there, or stood still. `lost`: at most so many seconds of its writes are gone; None: it only stood."""

    begin: float
    end: float | None = None
    lost: float | None = None
    # Of a crash: how often the append-only file still has an XADD with each number.
    survivors: dict = field(default_factory=dict)


@dataclass
class History:
    lives: dict = field(default_factory=dict)
    outages: list = field(default_factory=list)
    # Times at which connections to Redis were cut by CLIENT KILL.
    cuts: list = field(default_factory=list)
    # Pairs of (begin, end): within it the providers closed all connections without a word.
    drops: list = field(default_factory=list)
    goaways: list = field(default_factory=list)
    # Pairs of (time, seconds): how long the simulator took then to answer a trifle.
    pulses: list = field(default_factory=list)

    def crashes(self):
        return [outage for outage in self.outages if outage.lost is not None]
