"""Runs workers under load, does to them what a bad day does, and compares from outside: see docs/chaos.md.

    scripts/chaos [--seed N] [--faults N] [--replicas N] [--seconds N] …
"""

import argparse
import collections
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

import cluster
import load
import oracle
import schedule
from cluster import QUEUE
from history import History
from support import PROGRAM

# Some pushes are refused for a while, so that retries take part: for reasons that are tried again within seconds, also
# when the same push is refused twice.
def rules(share):
    return json.dumps([
        {"gateway": "apns", "share": share, "status": 429, "reason": "TooManyRequests"},
        {"gateway": "fcm", "share": share / 2, "status": 503, "reason": "UNAVAILABLE", "retry_after": "2"},
    ] if share else [])


# What may stay in Redis when all is done: the streams, empty, and what ingest keeps of the last stretches.
MAY_STAY = {f"{QUEUE}messages", f"{QUEUE}batches", f"{QUEUE}ingest"}


def arguments():
    parser = argparse.ArgumentParser(description="workers under load and faults, judged from outside")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=25)
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="of load and faults; by default 2 for each fault")
    parser.add_argument("--rate", type=float, default=20, help="chat messages a second")
    parser.add_argument("--xadd-share", type=float, default=0.3, help="of the messages, added with XADD instead of PUBLISH")
    parser.add_argument("--devices", type=int, default=20_000, help="of a big fan-out")
    parser.add_argument("--refused", type=float, default=0.002, help="share of the pushes that are refused for a while")
    parser.add_argument("--fan-out-every", type=float, default=10, help="seconds")
    parser.add_argument("--settle", type=float, default=60, help="seconds in which all must be done after the last fault")
    parser.add_argument("--only", action="append", choices=list(schedule.WEIGHTS), help="only faults of this kind")
    parser.add_argument("--sabotage", choices=["repeat", "lose"], help="spoil the run, to see that the judge notices")
    parser.add_argument("--keep", action="store_true", help="keep the logs also when all went well")
    return parser.parse_args()


class Run:
    """One run: its processes, its load, its faults."""

    def __init__(self, options, folder):
        self.options = options
        self.history = History()
        self.done = collections.Counter()
        self.folder = folder
        self.log = (folder / "faults.log").open("w", encoding="utf-8", buffering=1)
        self.timers = []
        self.stuck = []
        self.started = []

    def start(self):
        """Everything but the workers."""
        options, folder = self.options, self.folder
        self.redis = cluster.Redis(folder, self.history)
        self.started.append(self.redis)
        self.provider = cluster.Provider(folder, oracle.Limits().answer, rules(options.refused))
        self.started.append(self.provider)
        self.workers = cluster.Workers(folder, self.provider, self.redis.socket, self.history)
        self.channels = load.make_channels(random.Random(options.seed), 40, 2, options.devices)
        self.collector = load.Collector(self.provider)
        self.publisher = load.Publisher(self.redis.socket, self.channels, options)
        self.started += [self.workers, self.publisher, cluster.Pulse(self.provider, self.history)]

    def say(self, text):
        self.log.write(f"{time.time():.3f} {text}\n")

    # Faults.

    def later(self, seconds, action):
        timer = threading.Timer(seconds, action)
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def replace(self):
        if len(self.workers.alive()) < self.options.replicas:
            self.say(f"new {self.workers.start().name}")

    def commit(self, fault):
        """Does it; some kinds need a worker, and are nothing without one."""
        self.done[fault.kind] += 1
        kind = fault.kind
        if kind in ("kill", "stop", "terminate"):
            return self.on_worker(fault)
        if kind == "new replica":
            if len(self.workers.alive()) <= self.options.replicas + 1:
                self.say(f"new replica {self.workers.start().name}")
        elif kind == "client kill":
            self.cut_connections(fault)
        elif kind.startswith("redis"):
            self.on_redis(fault)
        else:
            times = self.history.goaways if kind == "goaway" else self.history.drops
            begin = time.time()
            self.provider.control("POST", f"/connections/{kind}", b"")
            times.append((begin, time.time()))
            self.say(f"{kind}, done within {times[-1][1] - begin:.3f}")

    def on_worker(self, fault):
        names = self.workers.alive() if fault.kind == "kill" else self.workers.running()
        if fault.kind == "terminate":
            names = list(filter(self.workers.has_begun, names))
        if not names:
            return self.say(f"{fault.kind}: nobody is there")
        name = names[fault.choice % len(names)]
        self.say(f"{fault.kind} {name} for {fault.lasts:.2f}")
        if fault.kind == "stop":
            self.workers.stand_still(name)
            return self.later(fault.lasts, lambda: (self.say(f"continue {name}"), self.workers.go_on(name)))
        if fault.kind == "kill":
            self.workers.kill(name)
        else:
            self.workers.terminate(name)
        return self.later(fault.lasts, self.replace)

    def on_redis(self, fault):
        self.say(f"{fault.kind} for {fault.lasts:.2f}, lost {fault.lost:.2f}")
        if fault.kind == "redis stop":
            self.redis.stand_still(fault.lasts)
        else:
            cut = self.redis.crash(fault.lasts, fault.lost if fault.kind == "redis power loss" else None)
            self.say(f"Redis is back; {cut} bytes of its file were lost")

    def cut_connections(self, fault):
        with cluster.client(self.redis.socket) as connection:
            own = [entry for entry in connection.client_list() if entry["name"].startswith("worker-")]
            kinds = [lambda entry: entry["name"].endswith("-subscription"), lambda entry: True,
                     lambda entry: not entry["name"].endswith("-subscription")]
            victims = list(filter(kinds[fault.choice % 3], own))
            if fault.choice % 2 and victims:
                victims = [victims[fault.choice // 6 % len(victims)]]
            self.say(f"client kill of {[entry['name'] for entry in victims]}")
            self.history.cuts.append(time.time())
            for entry in victims:
                connection.client_kill_filter(_id=entry["id"])
            self.history.cuts.append(time.time())

    # What the judge must notice.

    def spoil(self):
        """Repeats: a worker with other patterns gives messages other names. Loses: a device is not registered."""
        if self.options.sabotage == "repeat":
            self.workers.start(PUSHBRIDGE_CHANNELS="chat.*,big.*").until("ready", 20)
        elif self.options.sabotage == "lose":
            place, device = sorted(self.channels["chat.0"])[0]
            with cluster.client(self.redis.socket) as connection:
                connection.srem(load.key("chat.0", place), device)

    # The whole.

    def prepare(self):
        with cluster.client(self.redis.socket) as connection:
            load.register(connection, self.channels)
        self.redis.compact()
        for child in [self.workers.start() for _ in range(self.options.replicas)]:
            child.until("ready", 20)
        self.spoil()

    def go(self):
        seconds = self.options.seconds or 2 * self.options.faults
        faults = schedule.make(self.options.seed, self.options.faults, seconds)
        if self.options.only:
            faults = [fault for fault in faults if fault.kind in self.options.only]
        self.publisher.start()
        begin = time.monotonic()
        for fault in faults:
            self.wait_until(begin + fault.at)
            self.commit(fault)
        self.wait_until(begin + seconds)
        self.publisher.stop()
        if self.publisher.failure:
            raise self.publisher.failure

    def wait_until(self, moment):
        while (left := moment - time.monotonic()) > 0:
            self.collector.read()
            time.sleep(min(left, 1))

    def settle(self):
        """No more faults: within the deadline everything must be done, and nothing be left."""
        for timer in self.timers:
            timer.join()
        self.say("settling")
        while len(self.workers.alive()) < self.options.replicas:
            self.workers.start()
        deadline = time.monotonic() + self.options.settle
        with cluster.client(self.redis.socket) as connection:
            while True:
                self.stuck = self.leftovers(connection)
                came = self.collector.read()
                if not self.stuck and not came and not self.workers.leaving():
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(0.5)
        self.say(f"settled; stuck: {self.stuck}")
        for name in self.workers.leaving():
            self.workers.faults.append(f"worker {name} has not ended {self.options.settle} s after the last fault")

    def leftovers(self, connection):
        """What is in the queue's keys."""
        left = []
        for stream in ("messages", "batches", "dead"):
            if length := connection.xlen(QUEUE + stream):
                left.append((f"entries in {stream}", length))
        for stream in ("messages", "batches"):
            if connection.exists(QUEUE + stream) and connection.xinfo_groups(QUEUE + stream):
                if pending := connection.xpending(QUEUE + stream, "pushbridge")["pending"]:
                    left.append((f"pending entries of {stream}", pending))
        if delayed := connection.zcard(f"{QUEUE}delayed"):
            left.append(("delayed", delayed))
        keys = [key for key in connection.scan_iter("push:{queue}:*", 1000)
                if key not in MAY_STAY and key not in (f"{QUEUE}dead", f"{QUEUE}delayed")]
        if keys:
            left.append((f"keys {', '.join(sorted(keys)[:5])}", len(keys)))
        return left

    def end(self):
        """All workers end cleanly at once."""
        for name in self.workers.alive():
            self.workers.terminate(name)
        deadline = time.monotonic() + 30
        while (leaving := self.workers.leaving()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.workers.faults += [f"worker {name} has not ended 30 s after SIGTERM" for name in leaving]

    def tear_down(self):
        for timer in self.timers:
            timer.cancel()
        for part in reversed(self.started):
            part.stop()


def report(run, verdict, duration):
    """Prints what was done and found; true when all is well."""
    stuck = sum(count for _, count in run.stuck)
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(run.done.items()))
    allowed = ", ".join(f"{count} {why}" for why, count in sorted(verdict.allowed.items())) or "none"
    options = run.options
    print(f"chaos: seed {options.seed}, {sum(run.done.values())} faults, {options.replicas} replicas, {duration:.0f} s")
    print(f"  faults: {faults}")
    slowest = max((seconds for _, seconds in run.history.pulses), default=0)
    print(f"  the machine: the simulator took at most {slowest:.2f} s for a trifle")
    print(f"  workers started: {len(run.workers.children)}; most memory of one: {run.peak} MB")
    print(f"  messages: {verdict.messages} published, {verdict.counted} of them must arrive, "
          f"{verdict.others} of the others arrived too")
    print(f"  pushes: {verdict.pushes} due, {verdict.received} requests came")
    print(f"  repeats that are allowed: {allowed}")
    figures = {kind: verdict.figures[kind] for kind in (oracle.LOST, oracle.CALM, oracle.BEYOND)}
    figures["stuck"] = stuck
    for kind in (oracle.IDENTITY, oracle.UNKNOWN, oracle.REFUSED):
        figures[kind] = verdict.figures[kind]
    figures["workers that ended badly"] = len(run.workers.faults)
    for kind, count in figures.items():
        print(f"  {kind}: {count}")
        for example in verdict.examples.get(kind, [])[:5]:
            print(f"    {example}")
    for text in run.workers.faults + [f"{what}: {count}" for what, count in run.stuck]:
        print(f"    {text}")
    return not any(figures.values())


def memory(workers):
    """The most that any process that still runs has ever used, in MB."""
    peaks = [0]
    for child in workers.children.values():
        try:
            text = Path(f"/proc/{child.process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        peaks += [int(line.split()[1]) // 1024 for line in text.splitlines() if line.startswith("VmHWM")]
    return max(peaks)


def queue_contents(run):
    """What is left in the queue, without the long fields."""
    with cluster.client(run.redis.socket) as connection:
        streams = {name: connection.xrange(QUEUE + name) for name in ("messages", "batches", "dead")}
        hashes = {key: connection.hgetall(key) for key in connection.scan_iter(f"{QUEUE}run:*", 1000)}
        delayed = [(len(member), due) for member, due in connection.zrange(f"{QUEUE}delayed", 0, -1, withscores=True)]
    entries = {name: [(entry, {field: value for field, value in fields.items() if field != "tokens"})
                      for entry, fields in stream] for name, stream in streams.items()}
    return entries | {"runs": hashes, "delayed": delayed}


def write_down(folder, run, verdict):
    """Everything that one needs to look into it."""
    with (folder / "queue.json").open("w", encoding="utf-8") as file:
        json.dump(queue_contents(run), file, indent=1)
    with (folder / "history.json").open("w", encoding="utf-8") as file:
        json.dump({"history": asdict(run.history), "examples": verdict.examples, "stuck": run.stuck}, file, indent=1)
    with (folder / "publications.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(publication)) + "\n" for publication in run.publisher.publications)
    with (folder / "receptions.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(reception)) + "\n" for reception in run.collector.receptions)


def main():
    options = arguments()
    folder = Path(tempfile.mkdtemp(prefix="pushbridge-chaos-", dir="/tmp"))
    begin = time.monotonic()
    run = Run(options, folder)
    good = False
    try:
        run.start()
        run.prepare()
        run.go()
        run.settle()
        run.peak = memory(run.workers)
        run.end()
        run.collector.read()
        verdict = oracle.Judge(run.history).judge(
            run.publisher.publications, run.channels, run.collector.receptions)
        good = report(run, verdict, time.monotonic() - begin)
        if not good or options.keep:
            write_down(folder, run, verdict)
    finally:
        run.tear_down()
        if good and not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"  logs of all processes: {folder}")
    print("chaos: passed" if good else "chaos: FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"chaos: {PROGRAM} is not there; build it first")
    sys.exit(main())
