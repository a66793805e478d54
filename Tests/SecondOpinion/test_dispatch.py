"""Workers that are killed in the middle of big messages, of retries, again and again; and providers that are away."""

import collections
import json
import time
import unittest

from support import PROGRAM, Workplace, eventually, free_port, redis_client
from test_trouble import INBOX, MESSAGE, set_script

BATCHES = "push:{queue}:batches"
DELAYED = "push:{queue}:delayed"
FCM = json.dumps({"pn_fcm": {"notification": {"title": "Hello"}}})
BOTH = json.dumps(json.loads(MESSAGE) | json.loads(FCM))
# Outcomes are stored every 100 ms; a machine that does much else may take longer.
STORED_AFTER = 2.0


def devices(count, first=0):
    return [f"{number:064x}" for number in range(first, first + count)]


def memory(worker):
    """Resident bytes."""
    with open(f"/proc/{worker.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


class Dispatch(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.client = redis_client(self.redis, decode_responses=True)

    def worker(self, **more):
        return self.place.worker(self.simulator.environment, self.redis, **more)

    def kill(self, worker):
        worker.process.kill()
        worker.process.wait(10)

    def register(self, channel, tokens, registry="apns:production:com.example.app"):
        for start in range(0, len(tokens), 10_000):
            self.client.sadd(f"push:{{{channel}}}:{registry}", *tokens[start:start + 10_000])

    def send(self, channel, message=MESSAGE):
        return self.client.xadd(INBOX, {"channel": channel, "message": message})

    def until_empty(self, within=30):
        lengths = lambda: (self.client.xlen(INBOX), self.client.xlen(BATCHES), self.client.zcard(DELAYED))  # noqa: E731
        eventually(f"the queue is empty: {lengths()}", lambda: not any(lengths()), within)
        # Nothing is kept of what has its end.
        self.assertEqual(self.client.keys("push:{queue}:[rdw]*:*"), [])

    def requests(self):
        return json.loads(self.simulator.control("GET", "/stats"))["apns"]

    def pushes(self):
        return collections.Counter(line["device"] for line in self.simulator.received())

    def test_a_killed_worker_repeats_only_what_was_in_flight(self):
        self.simulator = self.place.simulator()
        big, small = devices(50_000), [f"token-{number}" for number in range(500)]
        self.register("big", big)
        self.register("small", small, "fcm")
        set_script(self.simulator, {"gateway": "fcm", "share_of_devices": 0.5, "delay_ms": 20_000})
        killed = self.worker()
        self.send("big")
        eventually("the fan-out goes on", lambda: self.requests() > 8000, 20)
        message = self.send("small", FCM)
        eventually("a part of the small one is stored",
                   lambda: self.client.strlen(f"push:{{queue}}:done:{message}") >= 150 * 8, 20)
        self.kill(killed)
        killed_at = time.time()
        set_script(self.simulator)
        for _ in range(2):
            self.worker()
        self.until_empty()
        arrivals = collections.defaultdict(list)
        for line in self.simulator.received():
            arrivals[line["device"]].append(line["time_us"] / 1e6)
        self.assertEqual(len(arrivals), len(big) + len(small), "nothing is lost")
        repeated = [times for times in arrivals.values() if len(times) > 1]
        self.assertEqual({len(times) for times in repeated} - {2}, set())
        early = [times for device, times in arrivals.items()
                 if len(device) == 64 and len(times) > 1 and times[0] < killed_at - STORED_AFTER]
        self.assertEqual(early, [], "only what was in flight, or not yet stored, is repeated")
        # Of the small one: those with an outcome went once.
        self.assertGreaterEqual(sum(len(arrivals[device]) == 1 for device in small), 150)

    def test_retries_wait_in_redis_and_survive_their_worker(self):
        self.simulator = self.place.simulator()
        tokens = [f"token-{number}" for number in range(5000)]
        self.register("chat", tokens, "fcm")
        set_script(self.simulator, {"status": 503, "reason": "UNAVAILABLE", "retry_after": "5"})
        worker = self.worker()
        before = memory(worker)
        message = self.send("chat", FCM)
        eventually("all wait in Redis", lambda: self.client.hget(f"push:{{queue}}:run:{message}", "t0:waiting") == "5000", 20)
        eventually("no worker has any of them", lambda: self.client.xlen(BATCHES) == 0
                   and self.client.xpending(INBOX, "pushbridge")["pending"] == 0)
        self.assertLess(memory(worker) - before, 40 << 20)
        self.kill(worker)
        set_script(self.simulator)
        self.worker()
        self.until_empty()
        pushes = self.pushes()
        self.assertEqual(len(pushes), len(tokens))
        self.assertEqual(set(pushes.values()), {2}, "one attempt before the kill, one after it")

    def test_what_kills_its_workers_is_put_aside_and_can_be_put_back(self):
        self.simulator = self.place.simulator()
        tokens = devices(2)
        self.register("bad", tokens[:1])
        self.register("good", tokens[1:])
        set_script(self.simulator, {"fault": "silent"})
        # As if two workers had died with it; and a bystander that has waited in them.
        self.client.xgroup_create(INBOX, "pushbridge", "0", mkstream=True)
        bad, good = self.send("bad"), self.send("good")
        self.client.xreadgroup("pushbridge", "dead", {INBOX: ">"})
        self.client.xclaim(INBOX, "pushbridge", "dead", 0, [bad], idle=60_000, retrycount=2, justid=True)
        self.client.xclaim(INBOX, "pushbridge", "dead", 0, [good], idle=60_000, retrycount=1, justid=True)
        killed = self.worker()
        eventually("one push is on its way", self.pushes)
        counts = lambda: {entry["message_id"]: entry["times_delivered"]  # noqa: E731
                          for entry in self.client.xpending_range(INBOX, "pushbridge", "-", "+", 9)}
        self.assertEqual(list(self.pushes()), tokens[:1])
        # A new connection sends nothing more before its first answer: the other one has to wait, and is not counted.
        eventually("only what was begun is counted", lambda: counts() == {bad: 3, good: 1})
        self.kill(killed)
        for entry, count in counts().items():
            self.client.xclaim(INBOX, "pushbridge", "dead", 0, [entry], idle=60_000, retrycount=count, justid=True)
        set_script(self.simulator)
        self.worker()
        eventually("the bad one is put aside, the other served", lambda: self.client.xlen(INBOX) == 0, 20)
        letters = self.queue("dead")
        self.assertEqual([(letter["entry"], letter["reason"], letter["deliveries"]) for letter in letters],
                         [(bad, "WorkerDied", 3)])
        self.assertGreaterEqual(self.pushes()[tokens[1]], 1)
        before = self.pushes()[tokens[0]]
        self.assertEqual(self.queue("replay", letters[0]["id"])[0]["outcome"], "replayed")
        eventually("it is served", lambda: self.pushes()[tokens[0]] == before + 1)
        self.until_empty()
        self.assertEqual(self.queue("dead"), [])

    def queue(self, *words):
        """Runs a `queue` command; gives its lines."""
        child = self.place.start(PROGRAM, "queue", *words, "--json",
                                 environment={"PUSHBRIDGE_REDIS_URL": f"unix://{self.redis}"})
        self.assertEqual(child.process.wait(10), 0, child.text())
        return [json.loads(line) for line in child.text().splitlines() if line]

    def test_a_provider_that_is_away_holds_nobody_else_up(self):
        self.simulator = self.place.simulator()
        apns, fcm = devices(20_000), [f"token-{number}" for number in range(20_000)]
        self.register("away", apns)
        self.register("away", fcm, "fcm")
        self.register("chat", apns[:1])
        self.register("chat", fcm[:1], "fcm")
        nowhere = f"https://localhost:{free_port()}"
        message = BOTH.replace('"pn_fcm"', '"pn_ttl": 6, "pn_debug": true, "pn_fcm"')
        for gateway, setting in (("fcm", "PUSHBRIDGE_APNS_PRODUCTION_URL"), ("apns", "PUSHBRIDGE_FCM_URL")):
            with self.subTest(gateway), self.client.pubsub() as traces:
                traces.subscribe("pndebug")
                worker = self.worker(**{setting: nowhere})
                try:
                    self.serve_one_of_two(gateway, message, traces)
                finally:
                    worker.stop()

    def serve_one_of_two(self, gateway, message, traces):
        self.send("away", message)
        eventually("there are parts", lambda: self.client.xlen(BATCHES) > 0)
        for _ in range(5):
            self.send("chat", message)
        ends = []

        def served():
            ends.extend(self.ends(traces))
            return sum(end["gateway"] == gateway and end["channel"] == "chat" and end["sent"] == 1 for end in ends) == 5
        eventually("the other provider's pushes go out", served, 5)
        self.until_empty()

        def ended():
            ends.extend(self.ends(traces))
            return len(ends) == 12
        eventually("all targets have ended", ended)
        for end in ends:
            self.assertEqual(end["expected"], end["sent" if end["gateway"] == gateway else "expired"], end)

    @staticmethod
    def ends(traces):
        ends = []
        while (message := traces.get_message(timeout=0.05)) is not None:
            if message["type"] == "message" and '"stage":"completed"' in message["data"]:
                ends.append(json.loads(message["data"]))
        return ends


if __name__ == "__main__":
    unittest.main()
