"""What one worker leaves behind, another serves: after a kill, after a lost connection, and never what is alive."""

import collections
import signal
import unittest

from support import Workplace, eventually, redis_client
from test_trouble import DEVICES, INBOX, SET, add_messages, pending, set_script


class Takeover(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.client = redis_client(self.redis, decode_responses=True)
        self.client.sadd(SET, *DEVICES)
        self.simulator = self.place.simulator()

    def worker(self):
        return self.place.worker(self.simulator.environment, self.redis)

    def pushes(self):
        """How often each push arrived: a repeated one has the same apns-id."""
        return collections.Counter((line["headers"]["apns-id"], line["device"]) for line in self.simulator.received())

    def until_empty(self, within=30):
        eventually("the inbox is empty", lambda: self.client.xlen(INBOX) == 0, within)

    def test_a_new_worker_serves_what_a_killed_one_had(self):
        # A new connection sends nothing more before the first answer.
        set_script(self.simulator, {"fault": "silent"})
        killed = self.worker()
        add_messages(self.client, 5)
        eventually("the first push is on its way", self.pushes)
        eventually("the worker has all messages", lambda: pending(self.client) == 5)
        killed.process.kill()
        killed.process.wait(10)
        set_script(self.simulator)
        self.worker()
        self.until_empty()
        self.assertEqual(len(self.pushes()), 5 * len(DEVICES))
        self.assertEqual(sum(self.pushes().values()), 5 * len(DEVICES) + 1, "only what was on its way is repeated")
        self.assertEqual(pending(self.client), 0)

    def test_what_takes_long_stays_with_its_worker(self):
        set_script(self.simulator, {"times": 2, "delay_ms": 9000})
        self.worker()
        self.worker()
        add_messages(self.client, 4)
        self.until_empty()
        self.assertEqual(list(self.pushes().values()), [1] * 4 * len(DEVICES))

    def test_a_worker_that_stops_leaves_nothing_that_it_was_given(self):
        for count in range(20, 100, 20):
            worker = self.worker()
            worker.process.send_signal(signal.SIGTERM)
            # Entries come while it stops: it serves what it takes, and takes the others not at all.
            add_messages(self.client, count)
            self.assertEqual(worker.process.wait(20), 0)
            self.assertEqual(pending(self.client), 0, worker.text())
        self.worker()
        self.until_empty()
        self.assertEqual(list(self.pushes().values()), [1] * 200 * len(DEVICES))

    def test_entries_that_were_lost_with_a_connection_are_served(self):
        self.worker()
        killer = redis_client(self.redis)
        for _ in range(40):
            add_messages(self.client, 5)
            for connection in killer.client_list():
                if connection["name"].startswith("worker-"):
                    killer.client_kill_filter(_id=connection["id"])
        self.until_empty()
        self.assertEqual(set(self.pushes().values()), {1})
        self.assertEqual(len(self.pushes()), 200 * len(DEVICES))


if __name__ == "__main__":
    unittest.main()
