"""Several workers are as good as one: nothing is lost, nothing comes twice, and nobody is held up by others."""

import collections
import signal
import socket
import statistics
import sys
import threading
import time
import unittest

from support import ROOT, Workplace, eventually, redis_client
from test_trouble import set_script

sys.path.append(str(ROOT / "Tests" / "Chaos"))

import cluster  # noqa: E402
import load  # noqa: E402
from history import History  # noqa: E402
from oracle import Judge, Publication  # noqa: E402

INBOX = "push:{queue}:messages"
BATCHES = "push:{queue}:batches"
# The longest that a replica leaves to another what it has heard, before it writes it itself: 5 s and a beat.
MEMORY = 6.5


class Replicas(unittest.TestCase):
    """Redis, the simulator, and as many workers as a test wants."""

    redis_options = ()
    simulator_options = ()

    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis(*self.redis_options)
        self.client = redis_client(self.redis, decode_responses=True)
        self.simulator = self.place.simulator(*self.simulator_options)
        self.channels = {"chat": {("apns production", load.token("apns production", 0, 0))}}
        load.register(self.client, self.channels)
        self.collector = load.Collector(self.simulator)

    def workers(self, count, **more):
        return [self.place.worker(self.simulator.environment, self.redis, **more) for _ in range(count)]

    def add_channel(self, name, number, place, devices):
        self.channels[name] = {(place, load.token(place, number, index)) for index in range(devices)}
        load.register(self.client, {name: self.channels[name]})

    def received(self):
        """All pushes that have arrived."""
        self.collector.read()
        return self.collector.receptions

    def numbers(self):
        """How often each message arrived."""
        return collections.Counter(push.number for push in self.received())

    def is_empty(self):
        return self.client.xlen(INBOX) == 0 and self.client.xlen(BATCHES) == 0

    def until_empty(self, within=30.0):
        eventually("the queue is empty", self.is_empty, within)

    def stays(self, what, seconds, check):
        """Fails if the check gives something untrue before the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.assertTrue(check(), what)
            time.sleep(0.1)


class Names(Replicas):
    def test_one_message_published_a_thousand_times_is_a_thousand_pushes(self):
        self.workers(3)
        with self.client.pipeline(transaction=False) as pipeline:
            for _ in range(1000):
                pipeline.publish("chat", load.message(1))
            begin = time.monotonic()
            self.assertEqual(set(pipeline.execute()), {3})
        self.assertLess(time.monotonic() - begin, 1)
        eventually("all have arrived", lambda: self.numbers()[1] >= 1000, 30)
        self.until_empty()
        # Until nobody would write any of them a second time.
        self.stays("no more than a thousand", MEMORY, lambda: self.numbers()[1] == 1000)
        identities = {push.apns_id for push in self.received()}
        self.assertEqual(len(identities), 1000)


class Cost(Replicas):
    MESSAGES = 200
    # Seconds between two messages: each is done before the next one comes, or else one read would bring several.
    PACE = 0.03

    def figures(self):
        """Commands and bytes that Redis has been given so far."""
        stats = self.client.info("stats")
        return stats["total_commands_processed"], stats["total_net_input_bytes"]

    def measure(self, messages):
        """What Redis was given during the time of so many messages, or, without any, during the same time idle."""
        before = self.figures()
        begin = time.monotonic()
        for number in range(self.MESSAGES):
            if messages:
                self.client.publish("chat", load.message(number))
            time.sleep(max(0, begin + (number + 1) * self.PACE - time.monotonic()))
        return [after - then for after, then in zip(self.figures(), before)]

    def cost_of_a_message(self, replicas):
        workers = self.workers(replicas)
        idle = self.measure(messages=False)
        busy = self.measure(messages=True)
        self.until_empty()
        for worker in workers:
            self.assertEqual(worker.stop(), 0)
        return [(loaded - resting) / self.MESSAGES for loaded, resting in zip(busy, idle)]

    def test_a_message_costs_the_same_with_eight_replicas_as_with_one(self):
        # The first message of all loads the scripts.
        worker, = self.workers(1)
        self.client.publish("chat", load.message(0))
        eventually("the first message has arrived", self.numbers)
        self.until_empty()
        worker.stop()
        one = self.cost_of_a_message(1)
        eight = self.cost_of_a_message(8)
        for name, alone, shared in zip(("commands", "bytes"), one, eight):
            # Beats and the ends of blocking reads fall into the one or the other stretch of time: some dozens.
            self.assertAlmostEqual(shared, alone, delta=0.1 * alone, msg=f"{name}: 1 replica {alone}, 8 replicas {shared}")


class RollingRestart(Replicas):
    def publish(self, ended, counts):
        """Publishes until told to stop; every third message is there twice."""
        client = redis_client(self.redis)
        while not ended.wait(0.01):
            number = len(counts) + 1
            counts[number] = 2 if number % 3 == 0 else 1
            for _ in range(counts[number]):
                client.publish("chat", load.message(number))

    def test_a_rolling_restart_under_load_loses_and_repeats_nothing(self):
        self.add_channel("big", 1, "apns production", 20_000)
        workers = self.workers(3)
        ended, counts = threading.Event(), {}
        publisher = threading.Thread(target=self.publish, args=(ended, counts))
        publisher.start()
        try:
            self.client.publish("big", load.message(0))
            for worker in workers:
                self.workers(1)
                worker.process.send_signal(signal.SIGTERM)
                self.assertEqual(worker.process.wait(30), 0, worker.text())
        finally:
            ended.set()
            publisher.join(10)
        self.until_empty(60)
        expected = counts | {0: 20_000}
        self.assertEqual(dict(self.numbers() - collections.Counter(expected)), {}, "repeated")
        self.assertEqual(dict(collections.Counter(expected) - self.numbers()), {}, "lost")
        self.stays("nothing comes later", MEMORY, lambda: sum(self.numbers().values()) == sum(expected.values()))


class BigFanOut(unittest.TestCase):
    """A walk that loses its worker, and then its Redis."""

    DEVICES = 300_000

    def test_each_of_300000_devices_gets_it_once_though_the_walker_and_redis_are_killed(self):
        place = self.enterContext(Workplace())
        history = History()
        redis = cluster.Redis(place.folder, history)
        self.addCleanup(redis.stop)
        provider = cluster.Provider(place.folder, 0, "[]")
        self.addCleanup(provider.stop)
        pulse = cluster.Pulse(provider, history)
        self.addCleanup(pulse.stop)
        workers = cluster.Workers(place.folder, provider, redis.socket, history)
        self.addCleanup(workers.stop)
        collector = load.Collector(provider)
        channels = {"big": {("apns production", load.token("apns production", 0, n)) for n in range(self.DEVICES)}}
        client = cluster.client(redis.socket)
        load.register(client, channels)
        redis.compact()

        walker = workers.start()
        walker.until("ready")
        begin = time.time()
        self.assertEqual(client.publish("big", load.message(1)), 1)
        publication = Publication(1, "big", False, begin, time.time(), 1)
        workers.start().until("ready")
        self.until_received(collector, 0.15)
        workers.kill(walker.name.removeprefix("worker-0-"))
        workers.start().until("ready")
        self.until_received(collector, 0.5)
        redis.crash(away=0.5, lost=0.5)
        eventually("the queue is empty", lambda: self.is_done(redis), 180)
        collector.read()

        verdict = Judge(history).judge([publication], channels, collector.receptions)
        self.assertEqual(dict(verdict.figures), {}, verdict.examples)
        self.assertEqual({(push.place, push.device) for push in collector.receptions}, channels["big"])
        print(f"repeats that are allowed: {dict(verdict.allowed)}", file=sys.stderr)

    def until_received(self, collector, share):
        eventually(f"{share} of the devices", lambda: collector.read() is not None
                   and len(collector.receptions) > share * self.DEVICES, 180)

    @staticmethod
    def is_done(redis):
        """Nothing is left of the message: no entry, no part, no outcome, no walk."""
        with cluster.client(redis.socket) as client:
            keys = set(client.scan_iter("push:{queue}:*", 1000)) - {f"{cluster.QUEUE}ingest"}
            return keys <= {INBOX, BATCHES} and client.xlen(INBOX) == 0 and client.xlen(BATCHES) == 0


class Fairness(Replicas):
    # So many streams and so far away that the fan-out takes a while without filling the machine.
    simulator_options = ("--delay-ms", "20", "--streams", "20")
    COUNT = 40

    def delays(self, first):
        """Seconds from publish to the provider, of messages published one after the other."""
        published = {}
        for number in range(first, first + self.COUNT):
            published[number] = time.time()
            self.client.publish("chat", load.message(number))
            time.sleep(0.1)
        eventually("the messages have arrived", lambda: published.keys() <= self.numbers().keys(), 60)
        return [push.time - published[push.number] for push in self.received() if push.number in published]

    def test_a_fan_out_to_200000_devices_holds_no_chat_message_up(self):
        self.add_channel("big", 1, "apns production", 200_000)
        self.workers(2)
        idle = self.delays(first=1)
        self.client.publish("big", load.message(0))
        eventually("the fan-out is under way", lambda: len(self.received()) > 2000, 30)
        busy = self.delays(first=1000)
        self.assertFalse(self.is_empty(), "the fan-out ran all the time")
        print(f"median from publish to provider: idle {statistics.median(idle) * 1000:.1f} ms, "
              f"busy {statistics.median(busy) * 1000:.1f} ms; longest {max(busy) * 1000:.0f} ms", file=sys.stderr)
        # A machine that others use too makes anybody wait; what is behind 200,000 pushes waits for many seconds.
        self.assertLess(statistics.median(busy), 5 * statistics.median(idle) + 0.1)
        self.assertLess(max(busy), 2)


class OneGatewayFails(Replicas):
    def apns_gets_its_pushes_though(self, fcm_url):
        self.channels["both"] = {("apns production", load.token("apns production", 2, 0))} \
            | {("fcm", load.token("fcm", 2, index)) for index in range(3000)}
        load.register(self.client, {"both": self.channels["both"]})
        self.workers(1, PUSHBRIDGE_FCM_URL=fcm_url)
        for number in range(1, 21):
            self.client.publish("both", load.message(number))
        for number in range(21, 41):
            self.client.publish("chat", load.message(number))
        eventually("APNs has all of its pushes", lambda: len(self.numbers()) == 40, 10)
        self.assertEqual(set(self.numbers().values()), {1})

    def test_a_gateway_that_refuses_connections(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.apns_gets_its_pushes_though(f"https://localhost:{probe.getsockname()[1]}")

    def test_a_gateway_that_takes_connections_and_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.apns_gets_its_pushes_though(f"https://localhost:{silent.getsockname()[1]}")

    def test_a_gateway_that_answers_no_request(self):
        set_script(self.simulator, {"gateway": "fcm", "fault": "silent"})
        self.channels["both"] = {("apns production", load.token("apns production", 2, 0))} \
            | {("fcm", load.token("fcm", 2, index)) for index in range(3000)}
        load.register(self.client, {"both": self.channels["both"]})
        self.workers(1)
        for number in range(1, 21):
            self.client.publish("both", load.message(number))
        eventually("APNs has all of its pushes",
                   lambda: sum(push.place != "fcm" for push in self.received()) == 20, 10)


if __name__ == "__main__":
    unittest.main()
