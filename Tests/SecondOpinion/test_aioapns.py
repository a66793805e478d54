"""The simulator of APNs gets on with a client that others wrote: aioapns, from PyPI."""

import asyncio
import ssl
import unittest
import uuid
from pathlib import Path

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsDevelopmentClientProtocol, APNsProductionClientProtocol

from support import Workplace

TOPIC = "com.example.app"


class ClientOfOthers(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.simulator = self.place.simulator()
        environment = self.simulator.environment
        for protocol, name in ((APNsProductionClientProtocol, "PRODUCTION"), (APNsDevelopmentClientProtocol, "DEVELOPMENT")):
            protocol.APNS_SERVER = "localhost"
            protocol.APNS_PORT = self.simulator.port(f"PUSHBRIDGE_APNS_{name}_URL")
        self.key = Path(environment["PUSHBRIDGE_APNS_KEY_FILE"]).read_text(encoding="utf-8")
        self.key_id = environment["PUSHBRIDGE_APNS_KEY_ID"]
        self.team_id = environment["PUSHBRIDGE_APNS_TEAM_ID"]
        self.trust = ssl.create_default_context(cafile=environment["PUSHBRIDGE_CA_FILE"])

    def push(self, requests, use_sandbox=False, **changed):
        options = {"key": self.key, "key_id": self.key_id, "team_id": self.team_id, "topic": TOPIC} | changed

        async def run():
            client = APNs(ssl_context=self.trust, use_sandbox=use_sandbox, max_connections=1, **options)
            try:
                return await asyncio.wait_for(asyncio.gather(*map(client.send_notification, requests)), 20)
            finally:
                client.pool.close()
        return asyncio.run(run())

    def request(self, number, **more):
        return NotificationRequest(device_token=f"{number:064x}", message={"aps": {"alert": f"Hello {number} ✓"}},
                                   notification_id=str(uuid.uuid4()), push_type=PushType.ALERT, **more)

    def test_pushes_arrive_as_they_were_sent_in_both_environments(self):
        for use_sandbox in (False, True):
            requests = [self.request(number, time_to_live=60, priority=10) for number in range(20)]
            results = self.push(requests, use_sandbox=use_sandbox)
            self.assertEqual([result.status for result in results], ["200"] * 20)
            self.assertEqual([result.notification_id for result in results], [r.notification_id for r in requests])
            received = {line["device"]: line for line in self.simulator.received()
                        if line["environment"] == ("development" if use_sandbox else "production")}
            self.assertEqual(len(received), 20)
            for request in requests:
                line = received[request.device_token]
                self.assertEqual(line["headers"]["apns-topic"], TOPIC)
                self.assertEqual(line["headers"]["apns-id"], request.notification_id)
                self.assertIn(request.message["aps"]["alert"], line["body"])

    def test_a_key_of_another_team_is_refused(self):
        results = self.push([self.request(1)], team_id="OTHERTEAM1")
        self.assertEqual([(result.status, result.description) for result in results], [("403", "InvalidProviderToken")])

    def test_a_bad_token_is_refused_with_apples_word(self):
        request = self.request(1)
        request.device_token = "not-hex"
        results = self.push([request])
        self.assertEqual([(result.status, result.description) for result in results], [("400", "BadDeviceToken")])


if __name__ == "__main__":
    unittest.main()
