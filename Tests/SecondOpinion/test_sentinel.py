"""A worker whose Redis is found by sentinels: it follows the primary when that one dies, and when it is moved."""

import json
import subprocess
import unittest

import redis

from support import PATH, PROGRAM, Workplace, eventually, free_port

NAME = "primary"
SET = "push:{chat}:fcm"
INBOX = "push:{queue}:messages"


class Sentinels(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.ports = [free_port(), free_port()]
        self.servers = [self.server(self.ports[0]), self.server(self.ports[1], "--replicaof", "127.0.0.1", self.ports[0])]
        first, second = map(self.client, self.ports)
        eventually("the replica is in step", lambda: second.info("replication")["master_link_status"] == "up", 30)
        self.sentinels = [free_port() for _ in range(3)]
        for port in self.sentinels:
            self.sentinel(port)
        self.ask = redis.Redis(port=self.sentinels[0], socket_timeout=10)
        eventually("the sentinels know the replica and each other", lambda: (
            len(self.ask.sentinel_slaves(NAME)) == 1 and len(self.ask.sentinel_sentinels(NAME)) == 2
            and not self.ask.sentinel_slaves(NAME)[0]["is_sdown"]), 30)
        self.url = f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.sentinels)}/{NAME}"
        self.simulator = self.place.simulator()
        self.run_program("devices", "add", "device", "--channels", "chat", "--fcm")

    def server(self, port, *options):
        folder = self.place.folder / f"redis-{port}"
        folder.mkdir(exist_ok=True)
        child = self.place.start("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                                 "--repl-diskless-sync-delay", "0", *options)
        child.until("eady to accept connections")
        return child

    def sentinel(self, port):
        path = self.place.folder / f"sentinel-{port}.conf"
        path.write_text(f"port {port}\nbind 127.0.0.1\ndir {self.place.folder}\n"
                        f"sentinel monitor {NAME} 127.0.0.1 {self.ports[0]} 2\n"
                        f"sentinel down-after-milliseconds {NAME} 500\nsentinel failover-timeout {NAME} 3000\n",
                        encoding="utf-8")
        self.place.start("redis-server", path, "--sentinel").until("+monitor")

    def client(self, port):
        return redis.Redis(port=port, socket_timeout=10)

    def run_program(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=30, env={
            "PATH": PATH, "PUSHBRIDGE_REDIS_URL": self.url})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def worker(self):
        worker = self.place.start(PROGRAM, "worker", environment=self.simulator.environment | {
            "PUSHBRIDGE_REDIS_URL": self.url, "PUSHBRIDGE_HTTP_ADDRESS": "off"})
        worker.until("ready")
        return worker

    def is_heard(self, port):
        """Whether the worker hears what is published there; a connection that was cut may be tried for the first time."""
        try:
            return self.client(port).execute_command("PUBSUB", "NUMPAT") > 0 and self.client(port).role()[0] == b"master"
        except redis.exceptions.ConnectionError:
            return False

    def push(self, port, text):
        """Publishes on the server of the port, and waits for the push."""
        self.client(port).publish("chat", json.dumps({"pn_fcm": {"data": {"text": text}}}))
        eventually(f"the push {text} arrives", lambda: [
            push for push in self.simulator.received() if text in json.dumps(push)], 20)

    def test_the_worker_follows_when_the_primary_dies(self):
        worker = self.worker()
        self.push(self.ports[0], "before")
        self.servers[0].process.kill()
        eventually("the worker hears the new primary", lambda: self.is_heard(self.ports[1]), 30)
        self.push(self.ports[1], "after")
        self.assertEqual(worker.stop(), 0)

    def test_the_worker_follows_when_the_primary_is_moved(self):
        worker = self.worker()
        self.push(self.ports[0], "before")
        eventually("the sentinels begin", self.move, 30)
        eventually("the worker hears the new primary", lambda: self.is_heard(self.ports[1]), 8)
        self.push(self.ports[1], "after")
        self.assertEqual(worker.stop(), 0)

    def move(self):
        try:
            return self.ask.execute_command("SENTINEL", "FAILOVER", NAME)
        except redis.exceptions.ResponseError:
            return None  # It has not yet heard enough of the replica.

    def test_what_the_new_primary_has_is_served_by_one_of_two_workers(self):
        workers = [self.worker(), self.worker()]
        self.client(self.ports[0]).sadd(SET, *[f"device-{number}" for number in range(20)])
        old = self.client(self.ports[0])
        texts = [f"text-{number}" for number in range(100)]
        for text in texts:
            old.xadd(INBOX, {"channel": "chat", "message": json.dumps({"pn_fcm": {"data": {"text": text}}})})
        self.assertEqual(old.wait(1, 10_000), 1)
        eventually("the sentinels begin", self.move, 30)
        new = self.client(self.ports[1])
        eventually("it is the primary", lambda: new.role()[0] == b"master", 20)
        eventually("its queue is empty", lambda: new.xlen(INBOX) == 0, 40)
        got = {(json.loads(push["body"])["message"]["data"]["text"], push["device"]) for push in self.simulator.received()}
        devices = ["device"] + [f"device-{number}" for number in range(20)]
        self.assertEqual({(text, device) for text in texts for device in devices} - got, set())
        for worker in workers:
            self.assertEqual(worker.stop(), 0)

    def test_a_replica_is_refused_with_a_reason(self):
        worker = self.place.start(PROGRAM, "worker", environment=self.simulator.environment | {
            "PUSHBRIDGE_REDIS_URL": f"redis://127.0.0.1:{self.ports[1]}", "PUSHBRIDGE_HTTP_ADDRESS": "off"})
        worker.until("is a replica of")
        self.assertIsNone(worker.process.poll())
        self.client(self.ports[1]).execute_command("REPLICAOF", "NO", "ONE")
        worker.until("ready")


if __name__ == "__main__":
    unittest.main()
