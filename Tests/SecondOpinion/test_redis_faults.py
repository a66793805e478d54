"""Redis as operators run it: full, a replica for a while, loading, without scripts, cutting and pausing connections.

Each device is to get each message once. What is published while the worker hears nothing is not counted.
"""

import collections
import json
import unittest

from support import PROGRAM, Workplace, eventually, free_port, redis_client
from test_trouble import set_script

INBOX = "push:{queue}:messages"
DEVICES = [f"device-{number}" for number in range(3)]


def message(text, size=0):
    return json.dumps({"pn_fcm": {"data": {"text": text, "more": "x" * size}}})


class Faults(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.simulator = self.place.simulator()
        self.redis = self.place.redis()
        self.client = redis_client(self.redis, decode_responses=True)
        self.client.sadd("push:{chat}:fcm", *DEVICES)

    def worker(self, **more):
        return self.place.worker(self.simulator.environment, self.redis, **more)

    def publish(self, text):
        eventually("somebody hears it", lambda: self.client.publish("chat", message(text)), 20)

    def received(self):
        """How often each device got each text."""
        texts = collections.Counter()
        for push in self.simulator.received():
            body = json.loads(push["body"]) if isinstance(push["body"], str) else push["body"]
            texts[body["message"]["data"]["text"], push["device"]] += 1
        return texts

    def expect(self, texts, within=30):
        """Waits until the queue is empty and every device has got each text; then each must have come once."""
        expected = {(text, device) for text in texts for device in DEVICES}
        eventually(f"all get {texts}", lambda: expected <= self.received().keys(), within)
        eventually("the queue is empty", lambda: self.client.xlen(INBOX) == 0, within)
        self.assertEqual({key: count for key, count in self.received().items() if count != 1}, {})

    # Out of memory.

    def test_a_full_redis_serves_its_queue_and_takes_messages_later(self):
        worker = self.worker()
        set_script(self.simulator, {"times": len(DEVICES), "status": 200, "delay_ms": 500})
        self.client.xadd(INBOX, {"channel": "chat", "message": message("before")})
        eventually("it is in flight", lambda: self.simulator.received())
        self.client.config_set("maxmemory", "1mb")
        for number in range(5):
            self.publish(f"full {number}")
        eventually("what was in the queue leaves it", lambda: self.client.xlen(INBOX) == 0, 20)
        worker.until("OOM")
        self.assertEqual(len(self.received()), len(DEVICES))
        self.client.config_set("maxmemory", "0")
        self.expect(["before"] + [f"full {number}" for number in range(5)])

    def test_a_big_fan_out_and_retries_are_served_by_a_full_redis(self):
        many = [f"one-of-many-{number}" for number in range(5000)]
        self.client.sadd("push:{big}:fcm", *many)
        self.worker().stop()
        set_script(self.simulator, {"times": 50, "status": 429, "reason": "QUOTA_EXCEEDED", "retry_after": "2"})
        self.client.xadd(INBOX, {"channel": "big", "message": message("big")})
        self.client.config_set("maxmemory", "1mb")
        worker = self.worker()
        eventually("the queue is empty", lambda: self.client.xlen(INBOX) == 0, 40)
        received = self.simulator.received()
        self.assertEqual(len([push for push in received if push["status"] != 200]), 50)
        got = collections.Counter(push["device"] for push in received if push["status"] == 200)
        self.assertEqual((set(many) - got.keys(), {device for device in got if got[device] > 1}), (set(), set()))
        self.assertEqual(worker.stop(), 0)

    def test_a_subscription_that_is_cut_comes_back_to_a_full_redis(self):
        self.worker()
        self.client.config_set("maxmemory", "1mb")
        for connection in self.client.client_list(_type="pubsub"):
            self.client.client_kill_filter(_id=connection["id"])
        self.publish("full")
        self.client.config_set("maxmemory", "0")
        self.expect(["full"])

    # Another role, not ready, no scripts.

    def test_a_server_that_is_a_replica_for_a_while_is_used_again_afterwards(self):
        worker = self.worker()
        self.publish("before")
        self.expect(["before"])
        self.client.execute_command("REPLICAOF", "127.0.0.1", free_port())
        self.publish("meanwhile")
        worker.until("is a replica of")
        self.client.execute_command("REPLICAOF", "NO", "ONE")
        eventually("it is heard again", lambda: self.client.execute_command("PUBSUB", "NUMPAT"), 20)
        self.publish("after")
        self.expect(["before", "meanwhile", "after"])
        self.assertEqual(worker.stop(), 0)

    def test_a_server_that_lacks_its_replicas_takes_messages_when_they_are_back(self):
        worker = self.worker()
        self.client.config_set("min-replicas-to-write", "1")
        self.publish("meanwhile")
        worker.until("NOREPLICAS")
        self.client.config_set("min-replicas-to-write", "0")
        self.expect(["meanwhile"])
        self.assertEqual(worker.stop(), 0)

    def test_a_server_that_loads_its_data_is_waited_for(self):
        folder = self.place.folder / "data"
        folder.mkdir()
        files = ["--dir", folder, "--dbfilename", "dump.rdb"]
        path = self.place.folder / "loading"

        def start(*options):
            return self.place.start("redis-server", "--port", "0", "--unixsocket", path, "--save", "", *files, *options)
        start().until("ready to accept connections")
        client = redis_client(path)
        client.sadd("push:{chat}:fcm", *DEVICES)
        for number in range(4000):
            client.set(f"key-{number}", "x" * 1000)
        client.save()
        self.place.children[-1].stop()
        server = start("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
        worker = self.place.start(PROGRAM, "worker", environment=self.simulator.environment | {
            "PUSHBRIDGE_REDIS_URL": f"unix://{path}", "PUSHBRIDGE_HTTP_ADDRESS": "off"})
        worker.until("LOADING")
        self.assertNotIn("ready to accept connections", server.text(), "the server was too quick for this test")
        listed = self.place.start(PROGRAM, "devices", "on", "chat", "--fcm", "--count", environment={
            "PUSHBRIDGE_REDIS_URL": f"unix://{path}"})
        server.until("ready to accept connections", 60)
        worker.until("ready", 20)
        self.assertEqual(listed.process.wait(20), 0, listed.text())
        self.assertIn(f"{len(DEVICES)} devices", listed.text())
        self.client = redis_client(path, decode_responses=True)
        self.publish("after")
        self.expect(["after"])

    def test_a_server_that_forgets_scripts_gets_them_again(self):
        worker = self.worker()
        for number in range(5):
            self.client.script_flush()
            self.publish(f"message {number}")
            self.client.script_flush()
            self.client.xadd(INBOX, {"channel": "chat", "message": message(f"entry {number}")})
        self.expect([f"{kind} {number}" for kind in ("message", "entry") for number in range(5)])
        self.assertNotIn("NOSCRIPT", worker.text())

    # Connections.

    def connections(self):
        """The worker's connections by name: their ids."""
        return {client["name"]: client["id"] for client in self.client.client_list()
                if client["name"].startswith("worker-")}

    def test_each_connection_that_is_cut_comes_back(self):
        worker = self.worker()
        names = sorted(self.connections())
        self.assertGreaterEqual(len(names), 4)
        texts = []
        for name in names:
            with self.subTest(name.split("-")[-1]):
                self.client.xadd(INBOX, {"channel": "chat", "message": message(f"before {name}")})
                before = self.connections()
                self.assertEqual(self.client.client_kill_filter(_id=before[name]), 1)
                eventually(f"{name} is back", lambda name=name, before=before: self.connections().get(
                    name, before[name]) != before[name], 20)
                self.publish(f"after {name}")
                texts += [f"before {name}", f"after {name}"]
                self.expect(texts)
        self.assertEqual(worker.stop(), 0)

    def test_a_pause_longer_than_all_deadlines_is_survived(self):
        for mode in ("ALL", "WRITE"):
            with self.subTest(mode):
                worker = self.worker()
                set_script(self.simulator, {"times": len(DEVICES), "status": 200, "delay_ms": 500})
                self.client.xadd(INBOX, {"channel": "chat", "message": message(f"before {mode}")})
                eventually("it is in flight", lambda mode=mode: any(text == f"before {mode}" for text, _ in self.received()))
                self.client.execute_command("CLIENT", "PAUSE", "8000", mode)
                # Waits for the end of the pause as well.
                client = redis_client(self.redis)
                client.connection_pool.connection_kwargs["socket_timeout"] = 30
                client.xadd(INBOX, {"channel": "chat", "message": message(f"after {mode}")})
                self.publish(f"published {mode}")
                self.expect([f"{word} {mode}" for word in ("before", "after", "published")])
                self.assertEqual(worker.stop(), 0)

    def test_a_message_beyond_the_output_limit_cuts_the_subscription_and_it_comes_back(self):
        worker = self.worker()
        self.client.config_set("client-output-buffer-limit", "pubsub 65536 0 0")
        self.client.publish("chat", message("too large", 300_000))
        worker.until("the subscription was lost")
        self.assertIn("client-output-buffer-limit", worker.text())
        self.publish("after")
        self.expect(["after"])
        self.assertEqual(worker.stop(), 0)

    def test_a_password_is_used_and_one_that_is_changed_ends_the_worker_with_a_sentence(self):
        self.client.config_set("requirepass", "first")
        worker = self.worker(PUSHBRIDGE_REDIS_URL=f"unix://:first@{self.redis}")
        self.client = redis_client(self.redis, password="first", decode_responses=True)
        self.publish("before")
        self.expect(["before"])
        self.client.config_set("requirepass", "second")
        for identity in self.connections().values():
            self.client.client_kill_filter(_id=identity)
        self.assertEqual(worker.process.wait(20), 1)
        self.assertIn("check both in the Redis URL", worker.text())
        self.assertNotIn("first", worker.text())


if __name__ == "__main__":
    unittest.main()
