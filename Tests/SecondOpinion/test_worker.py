"""The worker gets on with programs of others: nghttp2's server as provider, PyJWT, and redis-cli as the only client."""

import json
import re
import subprocess
import unittest

import jwt

from credentials import KEY_ID, PROJECT, TEAM_ID, TokenEndpoint, apns_key, server_certificate
from support import PATH, Workplace, eventually, free_port, redis_client

TOPIC = "com.example.app"
DEVICE = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
FCM_DEVICE = "fcm-token:APA91b_of-someone"
APNS_MESSAGE = {"aps": {"alert": "Hello"}, "pn_push": [{"targets": [{"topic": TOPIC, "environment": "production"}]}]}


def completed(subscription, gateways, within=20):
    """The traces of a message until each of its gateways is completed."""
    traces = []

    def check():
        message = subscription.get_message(timeout=0.1)
        if message and message["type"] == "message":
            traces.append(json.loads(message["data"]))
        return {trace["gateway"] for trace in traces if trace["stage"] == "completed"} == set(gateways)
    eventually(f"completed for {gateways}; traces: {traces}", check, within)
    return traces


class ServerOfOthers(unittest.TestCase):
    """nghttpd serves files: a push is accepted if there is a file under its path."""

    def setUp(self):
        self.place = self.enterContext(Workplace())
        folder = self.place.folder
        self.certificate, key = server_certificate(folder)
        (folder / "files/3/device").mkdir(parents=True)
        (folder / "files/3/device" / DEVICE).write_text("")
        (folder / f"files/v1/projects/{PROJECT}").mkdir(parents=True)
        (folder / f"files/v1/projects/{PROJECT}/messages:send").write_text(f'{{"name": "projects/{PROJECT}/messages/1"}}')
        port = free_port()
        self.server = self.place.start("nghttpd", "--verbose", "--address", "127.0.0.1", "-d", folder / "files", str(port), key, self.certificate)
        self.url = f"https://localhost:{port}"
        self.redis = self.place.redis()

    def test_apns_and_fcm_are_delivered(self):
        folder = self.place.folder
        key_file, public_key = apns_key(folder)
        endpoint = self.enterContext(TokenEndpoint(folder))
        self.place.worker({
            "PUSHBRIDGE_CA_FILE": str(self.certificate), "PUSHBRIDGE_APNS_PRODUCTION_URL": self.url,
            "PUSHBRIDGE_APNS_DEVELOPMENT_URL": self.url, "PUSHBRIDGE_FCM_URL": self.url,
            "PUSHBRIDGE_APNS_KEY_FILE": str(key_file), "PUSHBRIDGE_APNS_TEAM_ID": TEAM_ID,
            "PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE": str(endpoint.account)}, self.redis)
        client = redis_client(self.redis)
        client.sadd(f"push:{{chat}}:apns:production:{TOPIC}", DEVICE)
        client.sadd("push:{chat}:fcm", FCM_DEVICE)
        with client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            client.publish("chat", json.dumps(
                {"pn_debug": True, "pn_apns": APNS_MESSAGE, "pn_fcm": {"notification": {"title": "Hello"}}}))
            traces = completed(subscription, ["apns", "fcm"])
        for trace in traces:
            if trace["stage"] == "completed":
                self.assertEqual((trace["expected"], trace["sent"]), (1, 1), traces)
        names = [trace.get("name") for trace in traces if trace["stage"] == "sent" and trace["gateway"] == "fcm"]
        self.assertEqual(names, [f"projects/{PROJECT}/messages/1"])
        self.check_apns_headers(public_key)
        self.assertEqual(len(endpoint.assertions), 1)
        self.assertIn("authorization: Bearer token-of-the-endpoint", self.server_text())

    def server_text(self):
        """What nghttpd says of each frame, without its colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self.server.text())

    def check_apns_headers(self, public_key):
        headers = dict(re.findall(r"recv \(stream_id=\d+[^)]*\) (apns-[a-z-]+|:[a-z]+): (.*)", self.server_text()))
        self.assertEqual(headers["apns-topic"], TOPIC)
        self.assertEqual(headers["apns-push-type"], "alert")
        self.assertEqual(headers["apns-priority"], "10")
        self.assertRegex(headers["apns-id"], r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        token = re.search(r"authorization: bearer (\S+)", self.server_text()).group(1)
        self.assertEqual(jwt.get_unverified_header(token)["kid"], KEY_ID)
        self.assertEqual(jwt.decode(token, public_key, algorithms=["ES256"])["iss"], TEAM_ID)


class RedisCommandLine(unittest.TestCase):
    """A person with redis-cli can register a device, publish, and use the inbox."""

    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.simulator = self.place.simulator()

    def cli(self, *arguments):
        done = subprocess.run(["redis-cli", "-s", self.redis, *arguments], capture_output=True, text=True,
                              env={"PATH": PATH}, timeout=20, check=True)
        return done.stdout.strip()

    def until_received(self, count):
        return eventually(f"{count} pushes arrive", lambda: len(self.simulator.received()) >= count and self.simulator.received())

    def test_register_and_publish(self):
        self.place.worker(self.simulator.environment, self.redis)
        self.assertEqual(self.cli("SADD", f"push:{{chat room}}:apns:production:{TOPIC}", DEVICE), "1")
        self.assertEqual(self.cli("SADD", "push:{chat room}:fcm", FCM_DEVICE), "1")
        message = {"pn_apns": APNS_MESSAGE, "pn_fcm": {"notification": {"title": "Hello"}}}
        self.assertEqual(self.cli("PUBLISH", "chat room", json.dumps(message)), "1")
        received = self.until_received(2)
        self.assertEqual(sorted(line["gateway"] for line in received), ["apns", "fcm"])
        apns = next(line for line in received if line["gateway"] == "apns")
        self.assertEqual(apns["device"], DEVICE)
        self.assertEqual(json.loads(apns["body"]), {"aps": {"alert": "Hello"}})

    def test_the_inbox_keeps_a_message_until_a_worker_comes(self):
        self.cli("SADD", f"push:{{chat}}:apns:production:{TOPIC}", DEVICE)
        self.cli("XADD", "push:{queue}:messages", "*", "channel", "chat", "message", json.dumps({"pn_apns": APNS_MESSAGE}))
        self.place.worker(self.simulator.environment, self.redis)
        self.assertEqual(len(self.until_received(1)), 1)
        eventually("the inbox is empty", lambda: self.cli("XLEN", "push:{queue}:messages") == "0")


if __name__ == "__main__":
    unittest.main()
