"""/healthz and /readyz from outside, while what the worker needs comes and goes."""

import http.client
import json
import signal
import socket
import unittest

from support import PROGRAM, Workplace, eventually, free_port, redis_client


class Health(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.port = free_port()

    def worker(self, simulator, redis, until="ready", **more):
        worker = self.place.start(PROGRAM, "worker", environment=simulator.environment | {
            "PUSHBRIDGE_REDIS_URL": f"unix://{redis}", "PUSHBRIDGE_HTTP_ADDRESS": f"127.0.0.1:{self.port}"} | more)
        worker.until(until)
        return worker

    def ask(self, path, method="GET", timeout=10):
        """The status and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def problems(self):
        status, body = self.ask("/readyz")
        answer = json.loads(body)
        self.assertEqual(status == 200, answer["ready"])
        self.assertEqual(status == 200, not answer.get("problems"), answer)
        return answer.get("problems", [])

    def until_problem(self, word, within=15):
        return eventually(f"a problem with {word}", lambda: [text for text in self.problems() if word in text], within)

    def until_ready(self, within=20):
        eventually("it is ready", lambda: not self.problems(), within)

    def test_readiness_follows_redis_and_health_does_not(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        worker = self.worker(simulator, redis)
        self.until_ready()
        self.assertEqual(self.ask("/healthz"), (200, "ok\n"))
        server = self.place.children[0]
        server.process.send_signal(signal.SIGSTOP)
        try:
            self.until_problem("")
            self.assertEqual(self.ask("/healthz")[0], 200)
        finally:
            server.process.send_signal(signal.SIGCONT)
        self.until_ready()
        server.process.kill()
        self.until_problem("Redis cannot be reached")
        self.assertEqual(self.ask("/healthz")[0], 200)
        redis.unlink()
        self.place.redis()
        self.until_ready()
        self.assertEqual(worker.stop(), 0)

    def test_it_is_unready_before_redis_is_there_and_without_a_usable_credential(self):
        simulator = self.place.simulator()
        environment = {name: value for name, value in simulator.environment.items() if "APNS_KEY" not in name}
        environment |= {"PUSHBRIDGE_REDIS_URL": f"unix://{self.place.folder / 'redis'}",
                        "PUSHBRIDGE_HTTP_ADDRESS": f"127.0.0.1:{self.port}"}
        environment.pop("PUSHBRIDGE_APNS_TEAM_ID")
        account = environment["PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE"]
        with open(account, encoding="utf-8") as file:
            broken = json.load(file) | {"token_uri": f"http://127.0.0.1:{free_port()}/token"}
        with open(account, "w", encoding="utf-8") as file:
            json.dump(broken, file)
        worker = self.place.start(PROGRAM, "worker", environment=environment)
        worker.until("listens for HTTP")
        self.until_problem("Redis")
        self.place.redis()
        worker.until("ready")
        self.assertEqual([text for text in self.until_problem("credential") if "fcm" not in text], [])
        self.assertEqual(self.ask("/healthz")[0], 200)

    def test_a_worker_that_stands_still_is_unhealthy(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        worker = self.worker(simulator, redis)
        worker.process.send_signal(signal.SIGSTOP)
        try:
            with self.assertRaises(TimeoutError):
                self.ask("/healthz", timeout=1)
        finally:
            worker.process.send_signal(signal.SIGCONT)
        eventually("it is healthy", lambda: self.ask("/healthz")[0] == 200)

    def test_a_worker_that_stops_is_not_ready(self):
        redis, simulator = self.place.redis(), self.place.simulator("--delay-ms", "3000")
        worker = self.worker(simulator, redis)
        client = redis_client(redis)
        client.sadd("push:{chat}:fcm", "device")
        client.publish("chat", json.dumps({"pn_fcm": {"notification": {"title": "x"}}}))
        eventually("the message is taken", lambda: client.xlen("push:{queue}:messages"))
        worker.process.send_signal(signal.SIGTERM)
        worker.until("stopping")
        self.assertIn("the worker is stopping", self.problems())
        self.assertEqual(worker.process.wait(20), 0)

    def test_other_paths_and_methods(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        self.worker(simulator, redis)
        for method, path, status in [("GET", "/", 404), ("GET", "/healthz/x", 404), ("POST", "/healthz", 405),
                                     ("HEAD", "/healthz", 200), ("PUT", "/readyz", 405), ("GET", "/readyz?verbose", 200)]:
            with self.subTest(f"{method} {path}"):
                self.assertEqual(self.ask(path, method)[0], status)

    def test_an_address_that_was_set_must_be_free(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        with socket.create_server(("127.0.0.1", self.port)):
            worker = self.worker(simulator, redis, until="")
            self.assertEqual(worker.process.wait(10), 1)
            self.assertIn(f"127.0.0.1:{self.port}", worker.text())

    def test_the_default_address_may_be_taken(self):
        redis, simulator = self.place.redis(), self.place.simulator()
        environment = simulator.environment | {"PUSHBRIDGE_REDIS_URL": f"unix://{redis}"}
        try:
            taken = socket.create_server(("127.0.0.1", 8080))
        except OSError:
            taken = socket.socket()  # Somebody else has it, which is as good.
        with taken:
            worker = self.place.start(PROGRAM, "worker", environment=environment)
            worker.until("ready")
            self.assertEqual(worker.text().count("there is no HTTP interface"), 1)
            self.assertEqual(worker.stop(), 0)


if __name__ == "__main__":
    unittest.main()
