"""One message to 40,000 devices of four targets, some excluded, some dead, some refused: nobody too many or too few."""

import collections
import json
import unittest
import urllib.request

from support import Workplace, eventually, redis_client

COUNT = 10_000
EXCLUDED = 100
DEAD_SHARE = 0.01
TOPICS = [("production", "com.example.one"), ("production", "com.example.two"), ("development", "com.example.three")]


def apns_token(topic, number):
    return f"{topic:08x}{number:056x}"


def fcm_token(number):
    return f"Token:{number}_of-fcm"


def is_dead(device):
    """The simulator's choice of a share of devices: always the same ones (FNV-1a, folded to a millionth)."""
    value = 0xCBF29CE484222325
    for byte in device.encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return (value ^ value >> 32) % 1_000_000 / 1_000_000 < DEAD_SHARE


class FanOut(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.simulator = self.place.simulator()
        self.client = redis_client(self.redis, decode_responses=True)
        self.sets = {f"push:{{big}}:apns:{environment}:{topic}": [apns_token(index, number) for number in range(COUNT)]
                     for index, (environment, topic) in enumerate(TOPICS)}
        self.sets["push:{big}:fcm"] = [fcm_token(number) for number in range(COUNT)]
        # Of each target: the first are excluded, and one after these is refused for a reason that removes nobody.
        self.refused = {tokens[EXCLUDED] for tokens in self.sets.values()}
        for key, tokens in self.sets.items():
            self.client.sadd(key, *tokens)

    def script(self):
        rules = [{"device": device, "status": 403 if ":" in device else 400,
                  "reason": "SENDER_ID_MISMATCH" if ":" in device else "BadMessageId"}
                 for device in sorted(self.refused)]
        rules += [{"gateway": "apns", "share_of_devices": DEAD_SHARE, "status": 410, "reason": "Unregistered",
                   "timestamp": 4_000_000_000_000},
                  {"gateway": "fcm", "share_of_devices": DEAD_SHARE, "status": 404, "reason": "UNREGISTERED"}]
        request = urllib.request.Request(self.simulator.environment["SIMULATOR_CONTROL_URL"] + "/script",
                                         data=json.dumps(rules).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            self.assertEqual(answer.status, 200)

    def message(self):
        targets = [{"topic": topic, "environment": environment,
                    "excluded_devices": [apns_token(index, number).upper() for number in range(EXCLUDED)]}
                   for index, (environment, topic) in enumerate(TOPICS)]
        return json.dumps({
            "pn_debug": True,
            "pn_apns": {"aps": {"alert": "Hello"}, "pn_push": [{"version": "v2", "targets": targets}]},
            "pn_fcm": {"notification": {"title": "Hello"}, "pn_exceptions": [fcm_token(n) for n in range(EXCLUDED)]}})

    def test_everybody_gets_exactly_what_is_due(self):
        self.script()
        self.place.worker(self.simulator.environment, self.redis)
        traces = []
        with self.client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            self.client.publish("big", self.message())

            def four_completed():
                message = subscription.get_message(timeout=0.1)
                if message and message["type"] == "message":
                    traces.append(json.loads(message["data"]))
                return sum(trace["stage"] == "completed" for trace in traces) == len(self.sets)
            eventually("four targets are completed", four_completed, 120)
        eventually("the inbox is empty", lambda: self.client.xlen("push:{queue}:messages") == 0)

        due = {device for tokens in self.sets.values() for device in tokens[EXCLUDED:]}
        received = collections.Counter(push["device"] for push in self.simulator.received())
        self.assertEqual(set(received) ^ due, set(), "the oracle's list is the expected one")
        self.assertEqual(max(received.values()), 1, "nobody twice")
        self.check_registrations()
        self.check_traces(traces)

    def check_registrations(self):
        for key, tokens in self.sets.items():
            gone = {device for device in tokens[EXCLUDED:] if is_dead(device) and device not in self.refused}
            self.assertGreater(len(gone), 0)
            self.assertEqual(self.client.smembers(key), set(tokens) - gone, key)

    def check_traces(self, traces):
        for key, tokens in self.sets.items():
            parts = key.split(":")
            fits = (lambda trace: trace.get("gateway") == "fcm") if parts[-1] == "fcm" else (
                lambda trace: (trace.get("environment"), trace.get("topic")) == (parts[-2], parts[-1]))
            gone = sum(is_dead(device) and device not in self.refused for device in tokens[EXCLUDED:])
            devices = [trace for trace in traces if trace["stage"] == "devices" and fits(trace)]
            self.assertEqual([(trace["count"], trace["excluded"]) for trace in devices], [(COUNT - EXCLUDED, EXCLUDED)], key)
            completed = next(trace for trace in traces if trace["stage"] == "completed" and fits(trace))
            counts = {name: completed[name] for name in ("expected", "sent", "removed", "errored", "expired")}
            self.assertEqual(counts, {"expected": COUNT - EXCLUDED, "sent": COUNT - EXCLUDED - gone - 1, "removed": gone,
                                      "errored": 1, "expired": 0}, key)
            each = [trace for trace in traces if "device" in trace and fits(trace)]
            self.assertLessEqual(len(each), 100, "at most a hundred traces of single devices in a large target")


if __name__ == "__main__":
    unittest.main()
