"""deploy/redis.acl: each user can do what it is for, and nothing of what the others are for."""

import hashlib
import subprocess
import unittest

import redis

from support import PATH, PROGRAM, ROOT, Workplace, redis_client
from test_trouble import set_script

SET = "push:{chat.1}:apns:production:com.example.app"
DEVICE = "push:device:{00ff}:apns:production:com.example.app"
QUEUE = "push:{queue}:"
INBOX, BATCHES, DELAYED, DEAD, INGEST = (QUEUE + name for name in ("messages", "batches", "delayed", "dead", "ingest"))
RUN, DONE, WALK = QUEUE + "run:1-0", QUEUE + "done:1-0", QUEUE + "walk:1-0:0"
REGISTRY, WORKER, OPERATOR = {"registrar", "worker"}, {"worker"}, {"worker", "operator"}
ALL = {"publisher", "registrar", "worker", "operator", "observer"}

# What one may do, and who may do it.
RIGHTS = [
    (("PING",), ALL),
    (("ROLE",), ALL),
    (("CLIENT", "SETNAME", "name"), ALL),
    # Messages, traces, marks.
    (("PUBLISH", "app.chat", "{}"), {"publisher"}),
    (("PUBLISH", "pndebug", "{}"), WORKER),
    (("PUBLISH", QUEUE + "marks", "1"), WORKER),
    (("EVAL", "return redis.call('PUBLISH', ARGV[1], 'x')", "1", INGEST, QUEUE + "marks"), WORKER),
    (("PUBSUB", "NUMSUB", QUEUE + "marks"), WORKER),
    (("PUBSUB", "CHANNELS"), set()),
    # Registrations.
    (("SADD", SET, "00ff"), REGISTRY),
    (("SREM", SET, "00ff"), REGISTRY),
    (("SSCAN", SET, "0"), REGISTRY),
    (("SCARD", SET), REGISTRY),
    (("ZADD", DEVICE, "1", "chat.1"), REGISTRY),
    (("ZREM", DEVICE, "chat.1"), REGISTRY),
    (("ZRANGE", DEVICE, "0", "-1", "WITHSCORES"), REGISTRY),
    (("ZADD", "push:device:{a:fcm}:fcm", "1", "chat.1"), REGISTRY),
    (("EVAL", "return redis.call('ZSCORE', KEYS[1], 'chat.1')", "1", DEVICE), REGISTRY),
    (("SCAN", "0"), {"registrar"}),
    (("EXISTS", DEVICE), {"registrar"}),
    (("DEL", SET), set()),
    (("SPOP", SET), set()),
    (("RENAME", SET, DEVICE), set()),
    # The queue.
    (("XADD", INBOX, "*", "channel", "a"), OPERATOR),
    (("XLEN", INBOX), OPERATOR),
    (("XLEN", BATCHES), OPERATOR),
    (("XRANGE", DEAD, "-", "+"), OPERATOR),
    (("XREVRANGE", DEAD, "+", "-"), OPERATOR),
    (("XDEL", DEAD, "1-0"), OPERATOR),
    (("ZCARD", DELAYED), OPERATOR),
    (("XINFO", "CONSUMERS", INBOX, "pushbridge"), OPERATOR),
    (("HGETALL", INGEST), OPERATOR),
    (("EVAL", "return redis.call('XLEN', KEYS[1])", "1", DEAD), OPERATOR),
    (("TIME",), REGISTRY | OPERATOR),
    (("XGROUP", "CREATE", INBOX, "pushbridge", "0", "MKSTREAM"), WORKER),
    (("XREADGROUP", "GROUP", "pushbridge", "w", "COUNT", "1", "STREAMS", INBOX, ">"), WORKER),
    (("XPENDING", INBOX, "pushbridge"), WORKER),
    (("XCLAIM", INBOX, "pushbridge", "w", "0", "1-0", "JUSTID"), WORKER),
    (("XAUTOCLAIM", INBOX, "pushbridge", "w", "5000", "0"), WORKER),
    (("XACK", INBOX, "pushbridge", "1-0"), WORKER),
    (("XGROUP", "DELCONSUMER", INBOX, "pushbridge", "w"), WORKER),
    (("XADD", BATCHES, "*", "message", "1-0"), OPERATOR),
    (("ZADD", DELAYED, "1", "x"), WORKER),
    (("ZRANGEBYSCORE", DELAYED, "-inf", "1"), WORKER),
    (("ZREM", DELAYED, "x"), WORKER),
    (("HSET", INGEST, "mark", "1"), WORKER),
    (("HINCRBY", RUN, "parts", "1"), WORKER),
    (("APPEND", DONE, "x"), WORKER),
    (("GETRANGE", DONE, "0", "7"), WORKER),
    (("SETRANGE", DONE, "0", "x"), WORKER),
    (("PEXPIRE", DONE, "1000"), WORKER),
    (("APPEND", WALK, "x"), WORKER),
    (("GET", WALK), WORKER),
    (("UNLINK", WALK), WORKER),
    (("DEL", RUN), WORKER),
    (("INFO", "server"), WORKER),
    (("CLIENT", "ID"), WORKER),
    (("CLIENT", "UNBLOCK", "999999"), WORKER),
    (("EVAL", "return redis.call('SADD', KEYS[1], 'x')", "1", INBOX), set()),
    (("XADD", "push:{events}:quarantine", "1-0", "token", "00ff"), WORKER),
    (("XADD", "push:{events}:removed", "MAXLEN", "~", "10", "*", "device", "00ff"), WORKER),
    (("XRANGE", "push:{events}:quarantine", "-", "+"), REGISTRY),
    (("XDEL", "push:{events}:quarantine", "1-0"), REGISTRY),
    # What nobody needs.
    (("GET", "push:elsewhere"), set()),
    (("SET", "elsewhere", "1"), set()),
    (("CLIENT", "LIST"), set()),
    (("CLIENT", "KILL", "TYPE", "normal"), set()),
    (("SCRIPT", "FLUSH"), set()),
    (("KEYS", "*"), set()),
    (("FLUSHALL",), set()),
    (("CONFIG", "GET", "*"), set()),
    (("ACL", "LIST"), set()),
    (("REPLICAOF", "NO", "ONE"), set()),
    (("SHUTDOWN",), set()),
]
SUBSCRIPTIONS = [
    (("psubscribe", "*"), WORKER),
    (("subscribe", "pndebug"), {"worker", "observer"}),
    (("subscribe", "app.chat"), set()),
    (("subscribe", QUEUE + "marks"), WORKER),
    (("psubscribe", "push*"), WORKER),
]
USERS = sorted(ALL)


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
            set_script(simulator, {"status": 410, "reason": "Unregistered", "timestamp": 4000000000000})
            run("publisher", "publish", "app.chat", "--title", "Hello", "--debug", *place_of_device)
            tail.until('"stage":"removed"')
            self.assertIn("Unregistered", run("registrar", "devices", "removed", "01ff"))
            self.assertIn("1 device", run("registrar", "devices", "restore", "--reason", "Unregistered"))
            self.assertIn("app.room", run("registrar", "devices", "list", "01ff", *place_of_device))
            run("registrar", "devices", "remove", "01ff", *place_of_device)
            self.assertIn("worker-", run("operator", "queue"))
            client = redis_client(path, username="operator", password="secret")
            for number in (1, 2):
                client.xadd(DEAD, {"channel": "app.chat", "message": "{}", "reason": "r"}, id=f"{number}-0")
            self.assertIn("1-0", run("operator", "queue", "dead"))
            run("operator", "queue", "replay", "1-0")
            run("operator", "queue", "drop", "--all")
            self.assertEqual(worker.stop(), 0)
            self.assertNotIn("NOPERM", worker.text())
            self.assertNotIn("ACL", worker.text())

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
        except redis.exceptions.ResponseError as error:
            # Within a script the refusal has words of its own.
            return "executing the script can't" not in str(error)

    def may_subscribe(self, client, verb, channel):
        with client.pubsub() as subscription:
            try:
                getattr(subscription, verb)(channel)
                return subscription.get_message(timeout=5) is not None
            except redis.exceptions.NoPermissionError:
                return False


if __name__ == "__main__":
    unittest.main()
