"""What the tests here share: servers of their own on unix sockets and free ports, all gone after each test."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

import redis

ROOT = Path(__file__).parents[2]
BINARIES = Path(os.environ.get("PUSHBRIDGE_BINARIES", ROOT / ".build" / "debug"))
PROGRAM = BINARIES / "pushbridge"
# Debian's daemons live where an ordinary user's PATH does not look.
PATH = os.environ["PATH"] + ":/usr/sbin"


def eventually(what, check, within=10.0):
    """Asks `check` until it gives something true, and returns that; fails after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what}")
        time.sleep(0.01)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Child:
    """One started program. Its output goes to a file, which is shown when something goes wrong."""

    def __init__(self, folder, name, arguments, environment=None):
        self.name = name
        self.output = Path(folder) / f"{self.name}.log"
        with self.output.open("ab") as log:
            self.process = subprocess.Popen(
                [str(argument) for argument in arguments],
                env={"PATH": PATH, "HOME": str(folder)} | (environment or {}),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)

    def text(self):
        return self.output.read_text(encoding="utf-8", errors="replace")

    def until(self, text, within=10.0):
        """Waits until the output contains the text; fails at once if the program has ended."""
        def check():
            if text in self.text():
                return True
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}:\n{self.text()}")
            return False
        eventually(f"{self.name} says {text!r}; it said:\n{self.text()}", check, within)

    def stop(self, within=10.0):
        """Ends it, the hard way if it must be, and gives its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(within)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(within)
        return self.process.returncode


class Workplace:
    """A temporary folder with the programs started in it. Used with `with`; the last started is the first to end."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="second-"))
        self.children = []
        return self

    def __exit__(self, kind, error, trace):
        for child in reversed(self.children):
            child.stop()
        if error is not None:
            for child in self.children:
                print(f"--- {child.name}\n{child.text()[-4000:]}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *arguments, environment=None):
        """Starts a program; its log has a name of its own, also when it is started again."""
        word = arguments[1] if arguments[0] == PROGRAM else Path(arguments[0]).name
        child = Child(self.folder, f"{len(self.children) + 1}-{word}", arguments, environment)
        self.children.append(child)
        return child

    def redis(self, *options):
        """A redis-server on a unix socket; gives the socket's path."""
        path = self.folder / "redis"
        child = self.start("redis-server", "--port", "0", "--unixsocket", path, "--save", "", *options)
        child.until("ready to accept connections")
        return path

    def simulator(self, *options):
        """The stand-in for the providers; gives its settings for a worker, as a dictionary."""
        folder = self.folder / "simulator"
        folder.mkdir()
        child = self.start(PROGRAM, "simulator", "--folder", folder, *options)
        child.until("ready")
        return Simulator(folder)

    def worker(self, environment, redis_path, **more):
        child = self.start(PROGRAM, "worker", environment=environment
                           | {"PUSHBRIDGE_REDIS_URL": f"unix://{redis_path}", "PUSHBRIDGE_HTTP_ADDRESS": "off"} | more)
        child.until("ready")
        return child


class Simulator:
    """What a started simulator has written for its users, and what it has received."""

    def __init__(self, folder):
        self.folder = folder
        lines = (folder / "simulator.env").read_text(encoding="utf-8").splitlines()
        self.environment = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

    def port(self, name):
        return urllib.parse.urlsplit(self.environment[name]).port

    def received(self):
        """The pushes that arrived, oldest first."""
        return [json.loads(line) for line in self.control("GET", "/received").decode().split("\n") if line]

    def control(self, method, path, body=None):
        """One call of its control interface; gives the answer's body."""
        request = urllib.request.Request(self.environment["SIMULATOR_CONTROL_URL"] + path, data=body, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


def redis_client(path, **options):
    return redis.Redis(unix_socket_path=str(path), socket_timeout=10, **options)
