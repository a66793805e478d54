"""What is published: chat messages to a few devices, equal ones on purpose, and big fan-outs; by PUBLISH and XADD."""

import json
import random
import re
import threading
import time

import redis

from cluster import QUEUE, client
from oracle import Publication, Reception

TOPIC = "com.example.app"
PLACES = ("apns production", "apns development", "fcm")
NUMBER = re.compile(r'"n":"?([0-9]+)')


def token(place, channel_number, number):
    """A device token that nobody else has."""
    if place == "fcm":
        return f"fcm:{channel_number}-{number}"
    return f"{PLACES.index(place) + 1:02x}{channel_number:06x}{number:056x}"


def key(channel, place):
    return f"push:{{{channel}}}:" + ("fcm" if place == "fcm" else f"apns:{place.split()[1]}:{TOPIC}")


def make_channels(chance, chats, fan_outs, devices):
    """Channels with their devices as a set of (place, device): chats with one to four, and big ones."""
    channels = {}
    for number in range(chats):
        members = {(place, token(place, number, index))
                   for index, place in enumerate(chance.choices(PLACES, k=chance.randint(1, 4)))}
        channels[f"chat.{number}"] = members
    for number in range(fan_outs):
        members = {(place, token(place, 1000 + number, index))
                   for index, place in enumerate(chance.choices(PLACES, [60, 20, 20], k=devices))}
        channels[f"big.{number}"] = members
    return channels


def register(connection, channels):
    """Puts the devices into the sets, as any program may."""
    for channel, members in channels.items():
        for place in PLACES:
            devices = [device for where, device in members if where == place]
            for start in range(0, len(devices), 1000):
                connection.sadd(key(channel, place), *devices[start:start + 1000])


def message(number):
    targets = [{"topic": TOPIC, "environment": environment} for environment in ("production", "development")]
    return json.dumps({"pn_apns": {"aps": {"alert": "Hello"}, "n": number, "pn_push": [{"targets": targets}]},
                       "pn_fcm": {"data": {"n": str(number)}}}, separators=(",", ":"))


class Publisher:
    """Publishes in a thread of its own until told to stop. What it chooses is a function of the seed alone."""

    def __init__(self, socket, channels, options):
        self.socket = socket
        self.chats = [name for name in channels if name.startswith("chat")]
        self.big = [name for name in channels if name.startswith("big")]
        self.chance = random.Random(options.seed)
        self.pause = 1 / options.rate
        self.fan_out_every = options.fan_out_every
        self.xadd_share = options.xadd_share
        self.publications = []
        self.number = 0
        self.ended = threading.Event()
        self.connection = client(socket)
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def stop(self):
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join(60)

    def run(self):
        try:
            self.publish_all()
        except Exception as error:  # Shown by the main thread: a load that has ended proves nothing.
            self.failure = error

    def publish_all(self):
        begin = time.monotonic()
        turn = fan_outs = 0
        while not self.ended.is_set():
            if self.big and time.monotonic() - begin >= fan_outs * self.fan_out_every + 1:
                fan_outs += 1
                self.send(self.chance.choice(self.big), 1, self.chance.random() < max(0.5, self.xadd_share))
            self.chat()
            turn += 1
            self.ended.wait(max(0, begin + turn * self.pause - time.monotonic()))

    def chat(self):
        """Mostly one message; some are published several times, and now and then many come at once."""
        channel, is_xadd, kind = self.chance.choice(self.chats), self.chance.random() < self.xadd_share, self.chance.random()
        if kind < 0.1:
            self.send(channel, self.chance.randint(2, 5), is_xadd)
        elif kind < 0.12:
            self.burst([self.chance.choice(self.chats) for _ in range(30)], is_xadd)
        else:
            self.send(channel, 1, is_xadd)

    def take_number(self):
        self.number += 1
        return self.number

    def send(self, channel, copies, is_xadd):
        """The same message so many times, one after the other."""
        number = self.take_number()
        for _ in range(copies):
            self.pipeline([(channel, number)], is_xadd)

    def burst(self, channels, is_xadd):
        self.pipeline([(channel, self.take_number()) for channel in channels], is_xadd)

    def pipeline(self, messages, is_xadd):
        begin = time.time()
        try:
            with self.connection.pipeline(transaction=False) as pipeline:
                for channel, number in messages:
                    if is_xadd:
                        pipeline.xadd(f"{QUEUE}messages", {"channel": channel, "message": message(number)})
                    else:
                        pipeline.publish(channel, message(number))
                answers = pipeline.execute(raise_on_error=False)
        except redis.RedisError:
            answers = [None] * len(messages)
        end = time.time()
        for (channel, number), answer in zip(messages, answers):
            failed = answer is None or isinstance(answer, Exception)
            receivers = None if failed else 1 if is_xadd else answer
            self.publications.append(Publication(number, channel, is_xadd, begin, end, receivers))


class Collector:
    """Reads the simulator's record as it grows."""

    def __init__(self, provider):
        self.provider = provider
        self.receptions = []

    def read(self):
        """Reads what came since; gives how much that was."""
        before = len(self.receptions)
        text = self.provider.control("GET", f"/received?from={before}")
        self.receptions += map(self.reception, filter(None, text.decode().split("\n")))
        return len(self.receptions) - before

    @staticmethod
    def reception(line):
        push = json.loads(line)
        place = " ".join(filter(None, [push["gateway"], push.get("environment")]))
        found = NUMBER.search(push["body"])
        return Reception(int(found[1]) if found else -1, place, push["device"], push["authority"].split(":")[0],
                         push["time_us"] / 1e6, push["status"], push["headers"].get("apns-id"))
