"""Certificates made by OpenSSL and cryptography, a server of others that asks for them, and keys that change."""

import json
import re
import signal
import subprocess
import unittest
from datetime import datetime, timedelta, timezone

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID, ObjectIdentifier

from credentials import server_certificate
from support import PATH, PROGRAM, Workplace, eventually, free_port, redis_client
from test_worker import DEVICE, completed

TOPIC = "com.example.app"
PASSWORD = "s3cret word"


def der(kind, content):
    return bytes([kind, len(content)]) + content


def push_certificate(topics, days=90):
    """A certificate with Apple's list of topics, self-signed, with its RSA key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.USER_ID, topics[0]),
                      x509.NameAttribute(NameOID.COMMON_NAME, f"Apple Push Services: {topics[0]}")])
    listed = b"".join(der(0x0C, topic.encode()) + der(0x30, der(0x0C, b"app")) for topic in topics)
    now = datetime.now(timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=100)).not_valid_after(now + timedelta(days=days, hours=1))
        .add_extension(x509.UnrecognizedExtension(ObjectIdentifier("1.2.840.113635.100.6.3.6"), der(0x30, listed)), critical=False)
        .sign(key, hashes.SHA256()))
    return certificate, key


def old_p12(certificate, key):
    """As the keychain exports it: triple DES, and a checksum with SHA-1."""
    encryption = (serialization.PrivateFormat.PKCS12.encryption_builder().kdf_rounds(2048)
                  .key_cert_algorithm(pkcs12.PBES.PBESv1SHA1And3KeyTripleDESCBC).hmac_hash(hashes.SHA1())
                  .build(PASSWORD.encode()))
    return pkcs12.serialize_key_and_certificates(b"push", key, certificate, None, encryption)


class Certificates(unittest.TestCase):
    def setUp(self):
        self.place = self.enterContext(Workplace())
        self.redis = self.place.redis()
        self.client = redis_client(self.redis)
        self.client.sadd(f"push:{{chat}}:apns:production:{TOPIC}", DEVICE)

    def secret(self, name, content):
        path = self.place.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return str(path)

    def push(self, topic=TOPIC, **configuration):
        target = {"topic": topic, "environment": "production"}
        message = {"pn_debug": True, "pn_apns": {"aps": {"alert": "x"}, "pn_push": [configuration | {"targets": [target]}]}}
        with self.client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            self.client.publish("chat", json.dumps(message))
            return completed(subscription, ["apns"])

    def p12_files(self):
        """The same certificate as several programs write it."""
        certificate, key = push_certificate([TOPIC, f"{TOPIC}.voip"])
        yield old_p12(certificate, key)
        pem = self.secret("pem", certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        for options in ([], ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-3DES"]):
            out = self.place.folder / "out.p12"
            subprocess.run(["openssl", "pkcs12", "-export", "-in", pem, "-out", out, "-passout", f"pass:{PASSWORD}", *options],
                           check=True, env={"PATH": PATH})
            yield out.read_bytes()

    def test_a_server_that_demands_a_certificate_gets_it(self):
        folder = self.place.folder
        server_pem, server_key = server_certificate(folder)
        (folder / "files/3/device").mkdir(parents=True)
        (folder / "files/3/device" / DEVICE).write_text("")
        port = free_port()
        server = self.place.start("nghttpd", "--verbose", "--verify-client", "--address", "127.0.0.1", "-d", folder / "files",
                                  str(port), server_key, server_pem)
        for number, p12 in enumerate(self.p12_files()):
            with self.subTest(number=number):
                worker = self.place.worker({
                    "PUSHBRIDGE_CA_FILE": str(server_pem), "PUSHBRIDGE_APNS_PRODUCTION_URL": f"https://localhost:{port}",
                    "PUSHBRIDGE_APNS_CERTIFICATE_FILE": self.secret("push.p12", p12),
                    "PUSHBRIDGE_APNS_CERTIFICATE_PASSWORD_FILE": self.secret("password", PASSWORD.encode() + b"\n")}, self.redis)
                traces = self.push(auth_method="cert")
                self.assertEqual([trace["stage"] for trace in traces if trace["stage"] in ("sent", "error")], ["sent"], traces)
                refused = self.push(auth_method="cert", push_type="complication")
                error = next(trace for trace in refused if trace["stage"] == "error")
                self.assertEqual(error["reason"], "TopicDisallowed")
                self.assertIn(f"{TOPIC} {TOPIC}.voip", error["text"])
                self.assertEqual(worker.stop(), 0)
                self.assertNotIn(PASSWORD, worker.text())
        text = re.sub(r"\x1b\[[0-9;]*m", "", server.text())
        self.assertIn(f":path: /3/device/{DEVICE}", text)
        self.assertNotIn("authorization", text)

    def test_the_end_of_a_certificate_is_said_at_the_start(self):
        for days, code, words in [(20, None, "in 20 days"), (-2, 78, "ended on")]:
            certificate, key = push_certificate([TOPIC], days=days)
            environment = {
                "PUSHBRIDGE_APNS_CERTIFICATE_FILE": self.secret("push.p12", old_p12(certificate, key)),
                "PUSHBRIDGE_APNS_CERTIFICATE_PASSWORD_FILE": self.secret("password", PASSWORD.encode()),
                "PUSHBRIDGE_REDIS_URL": f"unix://{self.redis}", "PUSHBRIDGE_HTTP_ADDRESS": "off"}
            worker = self.place.start(PROGRAM, "worker", environment=environment)
            if code is None:
                worker.until("ready")
                self.assertEqual(worker.stop(), 0)
            else:
                self.assertEqual(worker.process.wait(20), code)
            self.assertIn(words, worker.text())
            self.assertIn("developer.apple.com", worker.text())

    def test_a_changed_file_is_read_at_a_signal_and_by_itself(self):
        simulator = self.place.simulator()
        key = simulator.environment["PUSHBRIDGE_APNS_KEY_FILE"]
        file = self.place.folder / "credentials.json"

        def write(topics):
            file.write_text(json.dumps([{"kind": "apns-key", "key_file": key, "topics": topics,
                                         "team_id": simulator.environment["PUSHBRIDGE_APNS_TEAM_ID"]}]))
        write(["com.other"])
        environment = {name: value for name, value in simulator.environment.items() if "APNS_KEY" not in name and "TEAM" not in name}
        worker = self.place.worker(environment | {"PUSHBRIDGE_CREDENTIALS": str(file)}, self.redis)
        error = next(trace for trace in self.push() if trace["stage"] == "error")
        self.assertEqual(error["reason"], "NoCredential")
        self.assertIn("com.other", error["text"])
        write([TOPIC])
        worker.process.send_signal(signal.SIGHUP)
        worker.until("credentials were read again")
        self.assertIn("sent", [trace["stage"] for trace in self.push()])
        file.write_text("[{")
        worker.until("the former ones stay in use")
        self.assertIn("sent", [trace["stage"] for trace in self.push()])
        self.assertEqual(len(simulator.received()), 2)
        self.assertEqual(worker.stop(), 0)

    def test_mistakes_in_the_file_end_the_start_with_the_entry_and_the_field(self):
        file = self.secret("credentials.json", b'[{"kind":"fcm"},{"kind":"apns-key","key_file":"none","team_id":"x"}]')
        worker = self.place.start(PROGRAM, "worker", environment={"PUSHBRIDGE_CREDENTIALS": file})
        self.assertEqual(worker.process.wait(20), 78)
        for words in ["entry 1: service_account_file is missing", "entry 2: key_file names the file", "entry 2: team_id is"]:
            self.assertIn(words, worker.text())


if __name__ == "__main__":
    unittest.main()
