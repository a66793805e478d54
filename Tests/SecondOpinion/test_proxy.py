"""A worker that reaches its providers, and the token endpoint, through an HTTP proxy with a password."""

import json
import re
import sys
import unittest
from pathlib import Path

from support import PROGRAM, Workplace, eventually, redis_client

HOST = "push.example.invalid"
TOPIC = {"topic": "com.example.app", "environment": "production"}
MESSAGE = json.dumps({"pn_apns": {"aps": {"alert": "Hello"}, "pn_push": [{"targets": [TOPIC]}]},
                      "pn_fcm": {"notification": {"title": "Hello"}}})


class Proxy(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        # The name is known to nobody but the proxy.
        self.simulator = self.place.simulator("--host", HOST)
        environment = self.simulator.environment
        environment["SIMULATOR_CONTROL_URL"] = environment["SIMULATOR_CONTROL_URL"].replace(HOST, "127.0.0.1")
        self.client = redis_client(self.redis, decode_responses=True)
        self.client.sadd("push:{chat}:apns:production:com.example.app", "0a" * 32)
        self.client.sadd("push:{chat}:fcm", "device-1")
        self.client.xadd("push:{queue}:messages", {"channel": "chat", "message": MESSAGE})

    def proxy(self, *arguments):
        child = self.place.start(sys.executable, Path(__file__).with_name("proxy.py"), *arguments)
        child.until("port ")
        return child, re.search(r"port (\d+)", child.text())[1]

    def test_pushes_and_tokens_go_through_the_proxy(self):
        proxy, port = self.proxy("worker:s%cret")
        worker = self.place.worker(self.simulator.environment, self.redis,
                                   HTTPS_PROXY=f"http://worker:s%25cret@127.0.0.1:{port}", NO_PROXY="other.example")
        eventually("both pushes", lambda: len(self.simulator.received()) == 2, 20)
        eventually("an empty inbox", lambda: self.client.xlen("push:{queue}:messages") == 0)
        ports = {self.simulator.port(f"PUSHBRIDGE_{name}_URL") for name in ("APNS_PRODUCTION", "FCM")}
        asked = re.findall(r"CONNECT (\S+):(\d+) HTTP/1.1", proxy.text())
        self.assertEqual({host for host, _ in asked}, {HOST})
        self.assertTrue(ports <= {int(number) for _, number in asked}, asked)
        self.assertEqual(len(asked), 3, "APNs, FCM, the token endpoint")
        self.assertNotIn("cret", worker.text())

    def test_a_refusal_is_logged_with_its_reason(self):
        _, port = self.proxy("worker:secret")
        worker = self.place.worker(self.simulator.environment, self.redis,
                                   https_proxy=f"http://worker:wrong@127.0.0.1:{port}")
        eventually("the reason", lambda: "it wants another user and password" in worker.text())
        self.assertNotIn("wrong@", worker.text())
        self.assertEqual(self.simulator.received(), [])

    def test_exceptions_are_reached_directly(self):
        proxy, port = self.proxy()
        worker = self.place.worker(self.simulator.environment, self.redis, HTTPS_PROXY=f"http://127.0.0.1:{port}",
                                   NO_PROXY=".example.invalid")
        eventually("the failure", lambda: f"{HOST} cannot be resolved" in worker.text(), 20)
        self.assertNotIn("CONNECT", proxy.text())

    def test_a_proxy_that_cannot_be_used_stops_the_start(self):
        child = self.place.start(PROGRAM, "worker", environment=self.simulator.environment | {
            "PUSHBRIDGE_REDIS_URL": f"unix://{self.redis}", "HTTPS_PROXY": "socks5://127.0.0.1:1080"})
        self.assertEqual(child.process.wait(10), 78)
        self.assertIn("HTTPS_PROXY: the proxy must begin with http://", child.text())


if __name__ == "__main__":
    unittest.main()
