"""Redis is busy, or does not let the worker do something for a while: nothing is lost, and all goes on by itself."""

import json
import unittest
import urllib.request

from support import Workplace, eventually, redis_client

INBOX = "push:{queue}:messages"
SET = "push:{chat}:apns:production:com.example.app"
DEVICES = [f"{number:064x}" for number in range(3)]
MESSAGE = json.dumps({"pn_apns": {"aps": {"alert": "Hello"}, "pn_push": [{"targets": [
    {"topic": "com.example.app", "environment": "production"}]}]}})
# Redis refuses everything else while a script runs for longer than its threshold.
BUSY = """
local function now() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
local finish = now() + 600000
while now() < finish do end
return 1
"""


def add_messages(client, count):
    for _ in range(count):
        client.xadd(INBOX, {"channel": "chat", "message": MESSAGE})


def pending(client):
    return client.xpending(INBOX, "pushbridge")["pending"]


def set_script(simulator, *rules):
    request = urllib.request.Request(simulator.environment["SIMULATOR_CONTROL_URL"] + "/script",
                                     data=json.dumps(rules).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200, answer.status


class Trouble(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis("--busy-reply-threshold", "20")
        self.simulator = self.place.simulator()
        self.client = redis_client(self.redis, decode_responses=True)
        self.client.sadd(SET, *DEVICES)

    def until_empty(self):
        eventually("the inbox is empty", lambda: self.client.xlen(INBOX) == 0 and pending(self.client) == 0, 20)

    def test_registrations_are_read_when_redis_is_no_longer_busy(self):
        worker = self.place.worker(self.simulator.environment, self.redis)
        with self.client.pipeline(transaction=False) as both:
            both.xadd(INBOX, {"channel": "chat", "message": MESSAGE})
            both.eval(BUSY, 0)
            both.execute()
        self.until_empty()
        self.assertEqual(sorted(line["device"] for line in self.simulator.received()), DEVICES, worker.text())

    def test_a_dead_device_is_removed_when_redis_is_no_longer_busy(self):
        set_script(self.simulator, {"device": DEVICES[0], "status": 410, "reason": "Unregistered", "delay_ms": 300})
        self.place.worker(self.simulator.environment, self.redis)
        add_messages(self.client, 1)
        eventually("all pushes are on their way", lambda: len(self.simulator.received()) == len(DEVICES))
        self.client.eval(BUSY, 0)
        self.until_empty()
        self.assertEqual(self.client.smembers(SET), set(DEVICES[1:]))

    def test_finished_messages_leave_the_queue_once_redis_lets_them(self):
        for refused in ("xack", "xdel"):
            with self.subTest(refused):
                self.client.execute_command("ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all", f"-{refused}")
                worker = self.place.worker(self.simulator.environment, self.redis,
                                           PUSHBRIDGE_REDIS_URL=f"unix://worker:secret@{self.redis}")
                add_messages(self.client, 1)
                worker.until("does not let finished messages leave the queue")
                self.client.execute_command("ACL", "SETUSER", "worker", "+@all")
                self.until_empty()
                self.assertEqual(worker.stop(), 0)

    def test_a_full_redis_is_emptied_by_a_worker_that_starts(self):
        self.place.worker(self.simulator.environment, self.redis).stop()
        add_messages(self.client, 3)
        self.client.config_set("maxmemory", "1mb")
        self.place.worker(self.simulator.environment, self.redis)
        self.until_empty()
        self.assertEqual(len(self.simulator.received()), 3 * len(DEVICES))

    def test_messages_that_redis_never_took_are_named_at_the_end(self):
        self.client.execute_command("ACL", "SETUSER", "worker", "on", ">secret", "~*", "&*", "+@all", "-xadd")
        worker = self.place.worker(self.simulator.environment, self.redis, PUSHBRIDGE_DRAIN_SECONDS="1",
                                   PUSHBRIDGE_REDIS_URL=f"unix://worker:secret@{self.redis}")
        for _ in range(2):
            self.client.publish("chat", MESSAGE)
        worker.until("Redis does not take messages into the queue")
        self.assertEqual(worker.stop(), 0)
        self.assertIn("messages that Redis did not take are lost messages=2", worker.text())


if __name__ == "__main__":
    unittest.main()
