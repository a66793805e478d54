"""deploy/redis.acl: each user can do what it is for, and nothing of what the others are for."""

import hashlib
import subprocess
import unittest

import redis

from support import PATH, PROGRAM, ROOT, Workplace, redis_client

SET = "push:{chat.1}:apns:production:com.example.app"
DEVICE = "push:device:{00ff}:apns:production:com.example.app"
INBOX = "push:{queue}:messages"

# What one may do, and who may do it.
RIGHTS = [
    (("PUBLISH", "app.chat", "{}"), {"publisher", "worker"}),
    (("PUBLISH", "pndebug", "{}"), {"worker"}),
    (("PUBLISH", "push:{queue}:marks", "1"), {"worker"}),
    (("SADD", SET, "00ff"), {"registrar", "worker"}),
    (("SREM", SET, "00ff"), {"registrar", "worker"}),
    (("SSCAN", SET, "0"), {"registrar", "worker"}),
    (("ZADD", DEVICE, "1", "chat.1"), {"registrar", "worker"}),
    (("ZADD", "push:device:{a:fcm}:fcm", "1", "chat.1"), {"registrar", "worker"}),
    (("EVAL", "return redis.call('ZSCORE', KEYS[1], 'chat.1')", "1", DEVICE), {"registrar", "worker"}),
    (("XADD", INBOX, "*", "channel", "a"), {"worker"}),
    (("XLEN", INBOX), {"worker"}),
    (("TIME",), {"registrar", "worker"}),
    (("GET", "push:{queue}:lease"), {"worker"}),
    (("SET", "elsewhere", "1"), set()),
    (("KEYS", "*"), set()),
    (("FLUSHALL",), set()),
    (("CONFIG", "GET", "*"), set()),
    (("ACL", "LIST"), set()),
    (("SHUTDOWN",), set()),
]
SUBSCRIPTIONS = [
    (("psubscribe", "*"), {"worker"}),
    (("subscribe", "pndebug"), {"worker", "observer"}),
    (("subscribe", "app.chat"), {"worker"}),
    (("subscribe", "push:{queue}:marks"), {"worker"}),
]
USERS = ["publisher", "registrar", "worker", "observer"]


class AccessControl(unittest.TestCase):
    def test_the_file_is_refused_until_passwords_are_set(self):
        with Workplace() as place:
            child = place.start("redis-server", "--port", "0", "--unixsocket", place.folder / "redis",
                                "--aclfile", ROOT / "deploy" / "redis.acl")
            self.assertNotEqual(child.process.wait(10), 0)
            self.assertIn("ACL errors", child.text())

    def redis(self, place):
        """A server with the users of the file, each with the password `secret`."""
        text = (ROOT / "deploy" / "redis.acl").read_text(encoding="utf-8")
        text = text.replace("PASSWORD_SHA256", hashlib.sha256(b"secret").hexdigest())
        (place.folder / "redis.acl").write_text(text, encoding="utf-8")
        return place.redis("--aclfile", place.folder / "redis.acl")

    def test_the_programs_work_with_their_users(self):
        with Workplace() as place:
            path = self.redis(place)

            def run(user, *arguments):
                done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=30, env={
                    "PATH": PATH, "PUSHBRIDGE_REDIS_URL": f"unix://{user}:secret@{path}"})
                self.assertEqual(done.returncode, 0, (user, arguments, done.stderr))
                return done.stdout

            simulator = place.simulator()
            worker = place.worker(simulator.environment, path, PUSHBRIDGE_REDIS_URL=f"unix://worker:secret@{path}")
            place_of_device = ("--topic", "com.example.app", "--environment", "production")
            run("registrar", "devices", "add", "00ff", "--channels", "app.chat,app.room", *place_of_device)
            self.assertIn("00ff", run("registrar", "devices", "on", "app.chat", *place_of_device))
            run("registrar", "devices", "replace", "00ff", "01ff", *place_of_device)
            self.assertIn("app.room", run("registrar", "devices", "list", "01ff", *place_of_device))
            tail = place.start(PROGRAM, "tail", "--json", environment={
                "PUSHBRIDGE_REDIS_URL": f"unix://observer:secret@{path}"})
            tail.until("listening")
            run("publisher", "publish", "app.chat", "--title", "Hello", "--debug", *place_of_device)
            tail.until('"stage":"completed"')
            self.assertIn('"sent":1', tail.text())
            run("registrar", "devices", "remove", "01ff", *place_of_device)
            self.assertNotIn("NOPERM", worker.text())

    def test_each_user_has_its_rights_and_no_others(self):
        with Workplace() as place:
            path = self.redis(place)
            with self.assertRaises(redis.exceptions.AuthenticationError):
                redis_client(path).ping()
            for user in USERS:
                client = redis_client(path, username=user, password="secret")
                for command, allowed in RIGHTS:
                    with self.subTest(f"{user}: {' '.join(command)}"):
                        self.assertEqual(self.may(client, command), user in allowed)
                for (verb, channel), allowed in SUBSCRIPTIONS:
                    with self.subTest(f"{user}: {verb} {channel}"):
                        self.assertEqual(self.may_subscribe(client, verb, channel), user in allowed)

    def may(self, client, command):
        try:
            client.execute_command(*command)
            return True
        except redis.exceptions.NoPermissionError:
            return False

    def may_subscribe(self, client, verb, channel):
        with client.pubsub() as subscription:
            try:
                getattr(subscription, verb)(channel)
                return subscription.get_message(timeout=5) is not None
            except redis.exceptions.NoPermissionError:
                return False


if __name__ == "__main__":
    unittest.main()
