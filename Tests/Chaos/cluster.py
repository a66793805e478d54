"""The processes of a run: redis-server with its append-only file, the simulator, the workers; and what is done to them."""

import collections
import re
import signal
import sys
import threading
import time
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

sys.path.append(str(Path(__file__).parents[1] / "SecondOpinion"))

from support import PROGRAM, Child, Simulator, eventually  # noqa: E402

from history import Life, Outage  # noqa: E402

QUEUE = "push:{queue}:"
# In the body for APNs: once in each message.
NUMBER = re.compile(rb'"n":([0-9]+)')


def spelling(number):
    """`localhost` with other capitals for each number: the name of the provider by which one worker calls it."""
    return "".join(letter.upper() if number >> index & 1 else letter for index, letter in enumerate("localhost"))


def client(path, **options):
    """A client that never sends a command twice."""
    return redis.Redis(unix_socket_path=str(path), socket_timeout=10, retry=Retry(NoBackoff(), 0),
                       decode_responses=True, encoding_errors="backslashreplace", **options)


class Redis:
    """A redis-server that can be killed, with the last second of what it wrote if wanted, and comes back."""

    def __init__(self, folder, history):
        self.folder = folder / "redis"
        (self.folder / "appendonlydir").mkdir(parents=True)
        self.socket = folder / "redis.socket"
        self.history = history
        self.starts = 0
        self.sizes = collections.deque(maxlen=500)
        self.is_ended = False
        self.start()
        threading.Thread(target=self.measure, daemon=True).start()

    def start(self):
        self.starts += 1
        self.child = Child(self.folder, f"redis-{self.starts}", [
            "redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.folder, "--save", "",
            "--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0"])
        self.child.until("ready to accept connections", within=60)

    def written(self):
        """The part of the append-only file that grows."""
        files = sorted(self.folder.glob("appendonlydir/*.incr.aof"), key=lambda path: int(path.name.split(".")[2]))
        return files[-1] if files else None

    def measure(self):
        """Remembers how long the file was when."""
        while not self.is_ended:
            path = self.written()
            if path:
                self.sizes.append((time.time(), path, path.stat().st_size))
            time.sleep(0.02)

    def compact(self):
        """All that was written so far cannot be lost any more."""
        with client(self.socket) as connection:
            eventually("no rewrite runs", lambda: not connection.info("persistence")["aof_rewrite_in_progress"], 60)
            connection.bgrewriteaof()
            eventually("the append-only file is rewritten", lambda: self.is_rewritten(connection), 60)

    @staticmethod
    def is_rewritten(connection):
        state = connection.info("persistence")
        return not state["aof_rewrite_in_progress"] and not state["aof_rewrite_scheduled"]

    def crash(self, away, lost=None):
        """Kills it and starts it again. `lost`: so many seconds of the file are gone, as after a loss of power."""
        # Without power loss only what Redis had not yet given to the kernel is gone: at most 2 s if the disk is slow.
        outage = Outage(time.time(), lost=2.0 if lost is None else lost)
        self.history.outages.append(outage)
        self.child.process.kill()
        self.child.process.wait(10)
        cut = self.cut_back(outage.begin - lost) if lost is not None else 0
        outage.survivors = self.survivors()
        time.sleep(away)
        self.start()
        outage.end = time.time()
        return cut

    def cut_back(self, moment):
        path = self.written()
        before = [size for when, file, size in list(self.sizes) if file == path and when <= moment]
        if not before or before[-1] >= path.stat().st_size:
            return 0
        gone = path.stat().st_size - before[-1]
        with path.open("r+b") as file:
            file.truncate(before[-1])
        return gone

    def survivors(self):
        """How often each number was added to the inbox, as far as the end of the file tells."""
        path = self.written()
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - (16 << 20)))
            return dict(collections.Counter(int(number) for number in NUMBER.findall(file.read())))

    def stand_still(self, seconds):
        outage = Outage(time.time())
        self.history.outages.append(outage)
        self.child.process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.child.process.send_signal(signal.SIGCONT)
        outage.end = time.time()

    def stop(self):
        self.is_ended = True
        self.child.stop(30)


class Provider:
    """The simulator, and its control interface."""

    def __init__(self, folder, distance, rules):
        place = folder / "simulator"
        place.mkdir()
        self.child = Child(folder, "simulator", [
            PROGRAM, "simulator", "--folder", place, "--delay-ms", round(distance * 1000)])
        self.child.until("ready", 20)
        self.simulator = Simulator(place)
        self.environment = self.simulator.environment
        self.control = self.simulator.control
        self.control("POST", "/script", rules.encode())

    def stop(self):
        self.child.stop(10)


class Pulse:
    """How long the simulator takes to say anything: the measure of a busy machine."""

    def __init__(self, provider, history):
        self.provider = provider
        self.history = history
        self.is_ended = threading.Event()
        self.thread = threading.Thread(target=self.measure, daemon=True)
        self.thread.start()

    def measure(self):
        while not self.is_ended.wait(0.1):
            begin = time.time()
            try:
                self.provider.control("GET", "/stats")
            except OSError:
                continue
            self.history.pulses.append((begin, time.time() - begin))

    def stop(self):
        self.is_ended.set()
        self.thread.join(60)


class Workers:
    """All workers that ever ran, and which of them run now."""

    def __init__(self, folder, provider, redis_socket, history, options=()):
        self.folder = folder
        self.provider = provider
        self.socket = redis_socket
        self.history = history
        self.options = dict(options)
        self.children = {}
        self.faults = []
        self.lock = threading.Lock()

    def start(self, **more):
        """Starts one; `more` are settings of its own."""
        with self.lock:
            number = len(self.children)
            host = spelling(number)
            urls = {name: value.replace("//localhost", f"//{host}") for name, value in self.provider.environment.items()
                    if name.startswith("PUSHBRIDGE_") and name.endswith("_URL")}
            environment = self.provider.environment | urls | {
                "PUSHBRIDGE_REDIS_URL": f"unix://{self.socket}", "PUSHBRIDGE_HTTP_ADDRESS": "off"} | self.options | more
            self.history.lives[host] = Life(host, time.time())
            child = Child(self.folder, f"worker-{number}-{host}", [PROGRAM, "worker"], environment)
            self.children[host] = child
            return child

    def alive(self):
        """Names of those that neither ended nor were asked to."""
        with self.lock:
            names = list(self.children)
        for name in names:
            self.note_end(name)
        return [name for name in names
                if self.history.lives[name].ended is None and self.history.lives[name].terminated is None]

    def running(self):
        """Those of `alive` that do not stand still."""
        return [name for name in self.alive() if not self.is_stopped(name)]

    def has_begun(self, name):
        """Whether it has said something: before that a process does not yet know what to do with SIGTERM."""
        return self.children[name].output.stat().st_size > 0

    def is_stopped(self, name):
        stops = self.history.lives[name].stops
        return bool(stops) and stops[-1][1] is None

    def note_end(self, name):
        """Notes that a process is gone; that it went by itself, or badly, is a finding."""
        life, process = self.history.lives[name], self.children[name].process
        if life.ended is not None or process.poll() is None:
            return
        life.ended = time.time()
        if life.killed is None and (life.terminated is None or process.returncode != 0):
            self.faults.append(f"worker {name} ended with {process.returncode}"
                               f"{' after SIGTERM' if life.terminated else ' by itself'}; see {self.children[name].output}")

    def kill(self, name):
        life = self.history.lives[name]
        life.killed = time.time()
        self.children[name].process.kill()
        self.children[name].process.wait(10)
        if self.is_stopped(name):
            life.stops[-1] = (life.stops[-1][0], life.killed)
        life.ended = time.time()

    def stand_still(self, name):
        self.history.lives[name].stops.append((time.time(), None))
        self.children[name].process.send_signal(signal.SIGSTOP)

    def go_on(self, name):
        life = self.history.lives[name]
        if life.ended is None and self.is_stopped(name):
            life.stops[-1] = (life.stops[-1][0], time.time())
            self.children[name].process.send_signal(signal.SIGCONT)

    def terminate(self, name):
        self.history.lives[name].terminated = time.time()
        self.children[name].process.send_signal(signal.SIGTERM)

    def leaving(self):
        """Those that were asked to end and have not."""
        names = [name for name, life in self.history.lives.items() if life.terminated is not None and life.ended is None]
        for name in names:
            self.note_end(name)
        return [name for name in names if self.history.lives[name].ended is None]

    def stop(self):
        """At the end of everything, whatever state they are in."""
        for name, child in self.children.items():
            if child.process.poll() is None:
                child.process.kill()
                child.process.wait(10)
