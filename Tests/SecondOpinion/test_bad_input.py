"""Whatever is published, the worker lives on, serves the next message, and is not silent where traces were asked for."""

import json
import unittest

from support import Workplace, eventually, redis_client

TOPIC = "com.example.app"
DEVICE = "ab" * 32
TARGETS = [{"targets": [{"topic": TOPIC, "environment": "production"}]}]


def push(alert, **more):
    return json.dumps({"pn_apns": {"aps": {"alert": alert}, "pn_push": TARGETS}} | more).encode()


# Not a message with a push: nothing may come of it but a count.
SILENT = [
    b"", b"not JSON", b"\xff\xfe", b"null", b"[]", b'"pn_apns"', b"1e999", b'{"a":1e999}', b"{" * 100_000, b"[" * 100_000,
    b'{"text":"\\ud800"}', b'{"deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"text":"' + b"x" * 1_048_000 + b'"}',
]
# Broken, but it can be seen that traces were asked for.
BROKEN = [
    b'{"pn_debug":true,"pn_apns":{"aps":{}}', b'{"pn_debug":true,"pn_apns":{"aps":{"alert":"\xff"}}}',
    b'{"pn_debug":true,"pn_gcm":{},}', b'{"pn_debug":true,"pn_fcm":{"data":{"a":01}}}',
]


class BadInput(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.simulator = self.place.simulator()
        self.worker = self.place.worker(self.simulator.environment, self.redis)
        self.client = redis_client(self.redis)
        self.traces = []

    def register(self, channel):
        self.client.sadd(b"push:{" + channel + b"}:apns:production:" + TOPIC.encode(), DEVICE)

    def until_alert(self, alert):
        """The push with this alert; each has its own, so the wait is for exactly this message."""
        def found():
            return next((line for line in self.simulator.received() if alert in line["body"]), None)
        return eventually(f"the push {alert!r} arrives", found)

    def test_nonsense_is_ignored(self):
        self.register(b"chat")
        with self.client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            self.assertEqual(subscription.get_message(timeout=5)["type"], "subscribe")
            for number, message in enumerate(SILENT):
                with self.subTest(message[:40]):
                    self.client.publish("chat", message)
                    self.client.publish("chat", push(f"after {number}."))
                    self.until_alert(f"after {number}.")
            self.assertIsNone(subscription.get_message(timeout=0.2))
        self.assertEqual(len(self.simulator.received()), len(SILENT))
        self.assertIsNone(self.worker.process.poll())

    def test_broken_json_that_asks_for_traces_gets_one(self):
        with self.client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            self.assertEqual(subscription.get_message(timeout=5)["type"], "subscribe")
            for message in BROKEN:
                with self.subTest(message):
                    self.client.publish("chat", message)
                    trace = json.loads(subscription.get_message(timeout=10)["data"])
                    self.assertEqual((trace["stage"], trace["id"], trace["reason"]), ("error", "-", "InvalidJSON"))
                    self.assertEqual(trace["channel"], "chat")
        self.assertEqual(self.client.xlen("push:{queue}:messages"), 0)

    def test_odd_channels_work(self):
        names = ["with space", "a:b:c", "{braces}", "}{", "nul\0inside", "emoji 🚀", "*", "[a]", "q?", "\\", "x" * 2000]
        for number, name in enumerate(names):
            with self.subTest(name[:20]):
                channel = name.encode()
                self.register(channel)
                self.client.publish(channel, push(f"odd {number}."))
                self.until_alert(f"odd {number}.")

    def test_odd_but_valid_messages_are_sent_as_they_are(self):
        self.register(b"chat")
        body = '{"aps":{"alert":"odd ✓ \\u00e9 \\ud83d\\ude00"},"n":1e999,"m":-0.0,"big":123456789012345678901234567890}'
        targets = json.dumps(TARGETS)
        message = f'{{"pn_apns":{{"pn_push":[]}},"pn\\u005fapns":{body[:-1]},"pn_push":{targets}}}}}'
        self.client.publish("chat", message.encode())
        self.assertEqual(self.until_alert("odd ✓")["body"], body)


if __name__ == "__main__":
    unittest.main()
