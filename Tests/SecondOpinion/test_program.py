"""The program from outside: signals, Redis that comes late or refuses, settings that are wrong."""

import json
import signal
import subprocess
import unittest

from support import PATH, PROGRAM, Workplace, eventually, redis_client

TOPIC = "com.example.app"
KEY = f"push:{{chat}}:apns:production:{TOPIC}"
MESSAGE = json.dumps({"pn_apns": {"aps": {"alert": "Hello"},
                                  "pn_push": [{"targets": [{"topic": TOPIC, "environment": "production"}]}]}})


def token(number):
    return f"{number:064x}"


class Program(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())

    def run_program(self, *arguments, environment=None):
        return subprocess.run([PROGRAM, *arguments], env={"PATH": PATH, "HOME": str(self.place.folder)} | (environment or {}),
                              capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)

    def until_received(self, simulator, count):
        return eventually(f"{count} pushes arrive", lambda: len(simulator.received()) >= count and simulator.received(), 30)

    def test_signals_end_the_worker_cleanly(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                worker = self.place.worker(simulator.environment, redis)
                worker.process.send_signal(number)
                self.assertEqual(worker.process.wait(10), 0, worker.text())

    def test_a_message_that_was_taken_survives_a_stop_and_a_new_start(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        client = redis_client(redis)
        client.sadd(KEY, *map(token, range(5000)))
        worker = self.place.worker(simulator.environment, redis)
        client.publish("chat", MESSAGE)
        self.until_received(simulator, 1)
        self.assertEqual(worker.stop(30), 0)
        self.place.worker(simulator.environment, redis)
        eventually("the inbox is empty", lambda: client.xlen("push:{queue}:messages") == 0, 30)
        devices = [push["device"] for push in simulator.received()]
        self.assertEqual(sorted(set(devices)), sorted(map(token, range(5000))))
        self.assertEqual(len(devices), 5000, "no device twice after a clean stop")

    def test_the_worker_waits_for_redis_and_says_so(self):
        simulator = self.place.simulator()
        path = self.place.folder / "redis"
        worker = self.place.start(PROGRAM, "worker", environment=simulator.environment
                                  | {"PUSHBRIDGE_REDIS_URL": f"unix://{path}", "PUSHBRIDGE_HTTP_ADDRESS": "off"})
        eventually("it names the socket", lambda: str(path) in worker.text())
        self.assertIsNone(worker.process.poll())
        client = redis_client(self.place.redis())
        worker.until("ready", within=20)
        client.sadd(KEY, token(1))
        client.publish("chat", MESSAGE)
        self.assertEqual(self.until_received(simulator, 1)[0]["device"], token(1))

    def test_the_worker_comes_back_after_redis_has(self):
        path, simulator = self.place.redis(), self.place.simulator()
        worker = self.place.worker(simulator.environment, path)
        self.place.children[0].stop()
        path.unlink(missing_ok=True)
        client = redis_client(self.place.redis())
        client.sadd(KEY, token(1))
        # Nobody hears a message that is published before the subscription is there again.
        eventually("somebody hears it", lambda: client.publish("chat", MESSAGE) > 0, 20)
        self.assertEqual(self.until_received(simulator, 1)[0]["device"], token(1))
        self.assertIsNone(worker.process.poll())

    def test_a_wrong_password_ends_the_worker_with_a_sentence(self):
        path, simulator = self.place.redis("--requirepass", "right"), self.place.simulator()
        done = self.run_program("worker", "--http-address", "off",
                                environment=simulator.environment | {"PUSHBRIDGE_REDIS_URL": f"unix://:wrong@{path}"})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("password", done.stderr.lower())
        self.assertNotIn("wrong@", done.stderr)

    def test_all_wrong_settings_are_named_at_once(self):
        done = self.run_program("worker", environment={
            "PUSHBRIDGE_REDIS_URL": "http://nowhere", "PUSHBRIDGE_NONSENSE": "1", "PUSHBRIDGE_DEBUG": "maybe",
            "PUSHBRIDGE_APNS_KEY_FILE": "/nonexistent/AuthKey.p8", "PUSHBRIDGE_SERVICE_HOST": "10.0.0.1"})
        self.assertEqual(done.returncode, 78)
        for name in ("PUSHBRIDGE_REDIS_URL", "PUSHBRIDGE_NONSENSE", "PUSHBRIDGE_DEBUG", "/nonexistent/AuthKey.p8"):
            self.assertIn(name, done.stderr)
        self.assertNotIn("SERVICE_HOST", done.stderr)

    def test_wrong_use_ends_with_2_and_shows_the_way(self):
        for arguments in (["nonsense"], ["worker", "--nonsense"], ["devices"], ["publish"], []):
            with self.subTest(arguments):
                done = self.run_program(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertIn("pushbridge", done.stderr)


if __name__ == "__main__":
    unittest.main()
