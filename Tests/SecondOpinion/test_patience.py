"""Pushes that wait for another attempt: they hold nobody up, and wait no longer than what was answered asks for."""

import json
import unittest

from support import Workplace, eventually, redis_client
from test_trouble import DEVICES, INBOX, MESSAGE, SET, add_messages, set_script


class Patience(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.client = redis_client(self.redis, decode_responses=True)
        self.client.sadd(SET, *DEVICES)
        self.simulator = self.place.simulator()
        self.place.worker(self.simulator.environment, self.redis)

    def test_many_that_wait_hold_nobody_up(self):
        many = [f"{number:064x}" for number in range(1000, 4000)]
        self.client.sadd(SET.replace("chat", "big"), *many)
        set_script(self.simulator, {"status": 429, "reason": "TooManyRequests", "retry_after": "600"})
        self.client.xadd(INBOX, {"channel": "big", "message": MESSAGE})
        eventually("all are told to wait", lambda: len(self.simulator.received()) == len(many), 20)
        set_script(self.simulator)
        add_messages(self.client, 1)
        eventually("the other message is served", lambda: self.client.xlen(INBOX) == 1)
        self.assertEqual(sorted(line["device"] for line in self.simulator.received()[len(many):]), DEVICES)

    def test_attempts_that_were_not_processed_do_not_count(self):
        device = DEVICES[0]
        set_script(self.simulator, {"device": device, "times": 6, "fault": "refuse"},
                   {"device": device, "times": 1, "status": 429, "reason": "TooManyRequests"})
        with self.client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            self.client.xadd(INBOX, {"channel": "chat", "message": json.dumps(json.loads(MESSAGE) | {"pn_debug": True})})
            traces = []

            def is_completed():
                message = subscription.get_message(timeout=0.1)
                if message and message["type"] == "message":
                    traces.append(json.loads(message["data"]))
                return traces and traces[-1]["stage"] == "completed"
            eventually(f"completed; traces: {traces}", is_completed, 30)
        self.assertEqual(traces[-1]["sent"], len(DEVICES))
        waits = [trace for trace in traces if trace["stage"] == "retry" and trace.get("status") == 429]
        self.assertEqual([trace["attempt"] for trace in waits], [1])
        self.assertLess(waits[0]["after_ms"], 2500)


if __name__ == "__main__":
    unittest.main()
