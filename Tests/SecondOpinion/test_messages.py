"""What messages ask for, from outside: a table of messages, with what the providers get and what the traces say.

Every case has its own channel and its own four devices, so that all of them go through one worker at one time.
"""

import json
import subprocess
import time
import unittest

from support import PATH, PROGRAM, Workplace, eventually, redis_client

TOPIC = "com.example.app"
SOON = int(time.time()) + 5000
ALERT = '{"aps":{"alert":"x"}}'


def text(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def target(**more):
    return {"topic": TOPIC} | more


def apns(push, aps=None, root=None, **more):
    """A message with this pn_push; `more` goes into pn_apns, `root` beside it."""
    return {"pn_debug": True, "pn_apns": {"aps": aps or {"alert": "x"}, "pn_push": push} | more} | (root or {})


def one(**configuration):
    return apns([{"targets": [target()]} | configuration])


def aimed(**more):
    return apns([{"targets": [target(**more)]}])


def fcm(value, key="pn_fcm"):
    return f'{{"pn_debug":true,"{key}":{text(value)}}}'


def push(body=ALERT, kind="alert", topic=TOPIC, priority="10", expiration=None, collapse=None, to="development"):
    headers = {"apns-topic": topic, "apns-push-type": kind, "apns-priority": priority,
               "apns-expiration": expiration, "apns-collapse-id": collapse}
    return to, body, {name: value for name, value in headers.items() if value is not None}


def android(message):
    """An FCM push of this message, written without its end and its token."""
    return "fcm", message, {}


PRODUCTION = push(to="production")
AT_ROOT = {"pn_push": {"targets": [target(environment="production")]}}
ODD = '"n":-0,"e":1E400,"s":"\\u0041\\/\\ud83d\\ude00 é","d":{"a":1,"a":2},"dup":1,"dup":2,"sp" : [ 1 ,2 ]'
CONTROLS = ('"pn_debug":1,"pn_ttl":10,"pn_exceptions":[],"pn_other":{"aps":1},"excluded_devices":[],'
            '"exclude_devices":[],"excludedDevices":[],"excludeDevices":[],"pn\\u005fttl":11')

# Name, message, pushes, reasons of errors. `%s` in a message is the case's device in development,
# `%S` the same in upper case, `%F` its FCM device.
CASES = [
    ("a list", one(), [push()], []),
    ("an object", apns({"targets": [target()]}), [push()], []),
    ("an empty list counts as absent, one at the root is taken", apns([], root=AT_ROOT), [PRODUCTION], []),
    ("nested wins", apns([{"targets": [target()]}], root=AT_ROOT), [push()], []),
    ("legacy form without default topic", apns([]), [], ["MissingTopic"]),
    ("two environments", apns({"targets": [target(), target(environment="PRODUCTION")]}), [push(), PRODUCTION], []),
    ("sandbox", aimed(environment="sandbox"), [push()], []),
    ("unknown environment", aimed(environment="staging"), [], ["BadEnvironment"]),
    ("no topic", apns([{"targets": [{"environment": "production"}]}]), [], ["MissingTopic"]),
    ("bad topic", apns([{"targets": [{"topic": "com/example"}]}]), [], ["BadTopic"]),
    ("a certificate that is not there", one(auth_method="cert"), [], ["NoCredential"]),
    ("collapse_id", one(collapse_id="c"), [push(collapse="c")], []),
    ("pn_collapse_id", one(pn_collapse_id="c"), [push(collapse="c")], []),
    ("collapseId", one(collapseId="c"), [push(collapse="c")], []),
    ("collapse id for all", apns([{"targets": [target()]}], pn_collapse_id="all"), [push(collapse="all")], []),
    ("collapse id of 64 bytes", one(collapse_id="é" * 32), [push(collapse="é" * 32)], []),
    ("collapse id of 65 bytes", one(collapse_id="c" * 65), [], ["BadCollapseId"]),
    ("collapse id with a control character", one(collapse_id="a\nb"), [], ["BadCollapseId"]),
    ("absent values", one(collapse_id=None, expiration="", push_type=None, auth_method=""), [push()], []),
    *((f"expiration {value}", one(expiration=value), [push(expiration=str(SOON))], []) for value in [
        SOON, str(SOON), SOON * 1000, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(SOON)),
        time.strftime("%Y-%m-%dT%H:%M:%S.678Z", time.gmtime(SOON)),
        time.strftime("%Y-%m-%dT%H:%M:%S+02:00", time.gmtime(SOON + 7200))]),
    ("unreadable expiration", one(expiration="exp_1"), [push()], []),
    ("excluded_devices", aimed(excluded_devices=["%s"]), [], []),
    ("exclude_devices", aimed(exclude_devices=["%S"]), [], []),
    ("excludedDevices", aimed(excludedDevices=["%s"]), [], []),
    ("excludeDevices", aimed(excludeDevices=["%S"]), [], []),
    ("pn_exceptions in pn_apns", apns([{"targets": [target()]}], pn_exceptions=["%S"]), [], []),
    ("exclusions of equal targets",
     apns([{"targets": [target()]}, {"targets": [target(excludeDevices=["%s"])]}]), [], []),
    ("equal targets, the first wins",
     apns([{"targets": [target()], "expiration": SOON}, {"targets": [target()]}]), [push(expiration=str(SOON))], []),
    ("voip", one(push_type="voip"), [push(kind="voip", topic=TOPIC + ".voip")], []),
    ("pushType", one(pushType="liveactivity"),
     [push(kind="liveactivity", topic=TOPIC + ".push-type.liveactivity")], []),
    ("background", one(push_type="background"), [push(kind="background", priority="5")], []),
    ("background by its content", apns([{"targets": [target()]}], {"content-available": 1}),
     [push('{"aps":{"content-available":1}}', "background", priority="5")], []),
    ("bad push type", one(push_type="Alert"), [], ["InvalidPushType"]),
    ("priority", one(priority=5), [push(priority="5")], []),
    ("priority that Apple refuses", one(priority=10, push_type="background"),
     [push(kind="background", priority="5")], []),
    ("odd spelling is kept",
     f'{{"pn_debug":true,"pn_apns":{{"aps":{{"alert":"x"}},{ODD},"pn_push":[{{"targets":[{text(target())}]}}]}}}}',
     [push(f'{{"aps":{{"alert":"x"}},{ODD}}}')], []),
    ("control keys are taken out",
     f'{{"pn_debug":true,"pn_apns":{{{CONTROLS},"aps":{{"alert":"x"}},"pn_push":[{{"targets":[{text(target())}]}}]}}}}',
     [push()], []),
    ("4096 bytes", apns([{"targets": [target()]}], "y" * 4086), [push(text({"aps": "y" * 4086}))], []),
    ("4097 bytes", apns([{"targets": [target()]}], "y" * 4087), [], ["PayloadTooLarge"]),
    ("pn_ttl 0 is one attempt", apns([{"targets": [target()]}], pn_ttl=0), [push()], []),
    ("bad pn_ttl", apns([{"targets": [target()]}], root={"pn_ttl": -1}), [push()], []),
    ("pn_apns that is a text", {"pn_debug": True, "pn_apns": "x"}, [], ["PayloadEmpty"]),
    *((f"{key} {value}", fcm(value, key), [android(message)] if message else [], [])
      for key in ("pn_fcm", "pn_gcm") for value, message in [
        ('{"notification":{"title":"x"},"token":"t","to":"u"}', '{"notification":{"title":"x"}'),
        ('{"data":{"n":1.50,"b":true,"o":{"x": [1, null]},"s":"\\u0041","z":null}}',
         '{"data":{"n":"1.50","b":"true","o":"{\\"x\\": [1, null]}","s":"\\u0041"}'),
        ('{"data":"scalar"}', '{"data":{"data":"scalar"}'),
        ('{"data":{"from":"x","google.a":"y","ok":"1"}}', '{"data":{"ok":"1"}'),
        ('{"notification":{"title":"x","sound":"s"},"priority":"high","time_to_live":60}',
         '{"notification":{"title":"x"},"android":{"notification":{"sound":"s"},"priority":"HIGH","ttl":"60s"}'),
        ('{"notification":{"title":"x","badge":"3"}}',
         '{"notification":{"title":"x"},"apns":{"payload":{"aps":{"badge":3}}}'),
        ('{"data":{"a":"1"},"pn_exceptions":["%F"]}', None),
        ("{}", None),
    ]),
    ("unknown keys of pn_gcm", fcm('{"alert":"x"}', "pn_gcm"), [android('{"data":{"alert":"x"}')], []),
    ("both keys", '{"pn_debug":true,"pn_gcm":{"data":{"a":"1"}},"pn_fcm":{"data":{"a":"2"}}}',
     [android('{"data":{"a":"2"}')], []),
    ("exceptions of both keys",
     '{"pn_debug":true,"pn_gcm":{"pn_exceptions":["%F"]},"pn_fcm":{"data":{"a":"2"}}}', [], []),
    ("one gateway's fault is its own", '{"pn_debug":true,"pn_apns":[],"pn_fcm":{"data":{"a":"2"}}}',
     [android('{"data":{"a":"2"}')], ["PayloadEmpty"]),
]

FIELDS = {
    "received": {"bytes", "gateways"}, "notice": {"key"}, "devices": {"gateway", "count", "excluded"},
    "sent": {"gateway", "device", "status"}, "error": {"reason"},
    "completed": {"gateway", "expected", "sent", "removed", "errored", "expired"},
}


class Messages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.enterClassContext(Workplace())
        path = place.redis()
        simulator = place.simulator()
        place.worker(simulator.environment, path)
        client = redis_client(path)
        with client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            assert subscription.get_message(timeout=5)["type"] == "subscribe"
            with client.pipeline(transaction=False) as pipeline:
                for number, (_, message, _, _) in enumerate(CASES):
                    cls.publish(pipeline, number, text(message))
                pipeline.execute()
            # Traces go out before their message leaves the queue.
            eventually("all is finished", lambda: client.xlen("push:{queue}:messages") == 0, 20)
            cls.traces = {}
            while (line := subscription.get_message(timeout=0.2)) is not None:
                trace = json.loads(line["data"])
                cls.traces.setdefault(trace["channel"], []).append(trace)
        cls.received = {}
        for line in simulator.received():
            cls.received.setdefault(line["device"], []).append(line)

    @staticmethod
    def devices(number):
        places = ["development", "production", "legacy"]
        return {place: f"{number * 4 + index:064x}" for index, place in enumerate(places)} | {"fcm": f"fcm:{number}"}

    @classmethod
    def publish(cls, pipeline, number, message):
        devices, channel = cls.devices(number), f"case{number}"
        pipeline.sadd(f"push:{{{channel}}}:apns:development:{TOPIC}", devices["development"])
        pipeline.sadd(f"push:{{{channel}}}:apns:production:{TOPIC}", devices["production"])
        pipeline.sadd(f"push:{{{channel}}}:apns", devices["legacy"])
        pipeline.sadd(f"push:{{{channel}}}:fcm", devices["fcm"])
        names = {"%s": devices["development"], "%S": devices["development"].upper(), "%F": devices["fcm"]}
        for name, device in names.items():
            message = message.replace(name, device)
        pipeline.xadd("push:{queue}:messages", {"channel": channel, "message": message})

    @staticmethod
    def headers(line):
        """What the message decides of a request's headers."""
        return {name: value for name, value in line["headers"].items()
                if name.startswith("apns-") and name != "apns-id"}

    def test_providers_get_what_the_message_says(self):
        for number, (name, _, pushes, _) in enumerate(CASES):
            with self.subTest(name):
                places = {device: place for place, device in self.devices(number).items()}
                arrived = [(places[device], line) for device in places for line in self.received.get(device, [])]
                got = [(place, line["body"], self.headers(line)) for place, line in arrived]
                ending = f',"token":"{self.devices(number)["fcm"]}"}}}}'
                expected = [(place, f'{{"message":{body}{ending}' if place == "fcm" else body, headers)
                            for place, body, headers in pushes]
                self.assertCountEqual(got, expected)

    def test_traces_say_what_happened(self):
        for number, (name, _, pushes, reasons) in enumerate(CASES):
            with self.subTest(name):
                traces = self.traces[f"case{number}"]
                for trace in traces:
                    needed = {"stage", "id", "channel", "time", "text"} | FIELDS[trace["stage"]]
                    self.assertLessEqual(needed, set(trace))
                    self.assertNotIn(None, trace.values())
                    if trace["stage"] == "completed":
                        outcomes = sum(trace[key] for key in ("sent", "removed", "errored", "expired"))
                        self.assertEqual(trace["expected"], outcomes)
                stages = [trace["stage"] for trace in traces]
                self.assertEqual(stages.count("received"), 1)
                self.assertEqual(stages.count("sent"), len(pushes))
                self.assertEqual(stages.count("devices"), stages.count("completed"))
                self.assertEqual([trace["reason"] for trace in traces if trace["stage"] == "error"], reasons)


class Odds(unittest.TestCase):
    def test_members_that_are_no_tokens(self):
        """They are counted, never sent, and kept, whether the target is served or ends before its fan-out."""
        place = self.enterContext(Workplace())
        path = place.redis()
        simulator = place.simulator()
        settings = simulator.environment.items()
        place.worker({name: value for name, value in settings if "SERVICE_ACCOUNT" not in name}, path)
        client = redis_client(path)
        members = {"ab" * 32, "abc", "zz", "", "ab" * 101, "CD" * 32}
        client.sadd(f"push:{{chat}}:apns:development:{TOPIC}", *members)
        client.sadd("push:{chat}:fcm", "token", "", "a\nb", b"\xff\xfe")
        with client.pubsub() as subscription:
            subscription.subscribe("pndebug")
            self.assertEqual(subscription.get_message(timeout=5)["type"], "subscribe")
            client.publish("chat", text(apns([{"targets": [target()]}], root={"pn_fcm": {"data": {"a": "1"}}})))
            completed = {}
            while len(completed) < 2:
                trace = json.loads(subscription.get_message(timeout=10)["data"])
                if trace["stage"] == "completed":
                    completed[trace["gateway"]] = trace
        self.assertEqual([completed["apns"][key] for key in ("expected", "sent", "errored")], [6, 2, 4])
        self.assertEqual([completed["fcm"][key] for key in ("expected", "sent", "errored")], [4, 0, 4])
        self.assertEqual({line["device"] for line in simulator.received()}, {"ab" * 32, "cd" * 32})
        kept = client.smembers(f"push:{{chat}}:apns:development:{TOPIC}")
        self.assertEqual({member.decode() for member in kept}, members)
        eventually("the message leaves the queue", lambda: client.xlen("push:{queue}:messages") == 0)

    def test_publish_shows_all_traces_and_waits_for_none_that_cannot_come(self):
        place = self.enterContext(Workplace())
        path = place.redis()
        simulator = place.simulator()
        place.worker(simulator.environment, path)
        redis_client(path).sadd("push:{chat}:fcm", "token")

        def publish(message):
            answer = subprocess.run(
                [PROGRAM, "publish", "chat", "--message", "-", "--trace", "--json", "--timeout", "20"], input=message,
                env={"PATH": PATH, "PUSHBRIDGE_REDIS_URL": f"unix://{path}"}, capture_output=True, timeout=10)
            lines = [json.loads(line) for line in answer.stdout.splitlines()]
            return answer.returncode, [(line["stage"], line.get("gateway")) for line in lines if "stage" in line]

        for message in [b"no JSON", b"[]", b'{"text":"x"}', b'{"pn_fcm":{']:
            with self.subTest(message):
                self.assertEqual(publish(message), (1, []))
        code, stages = publish(b'{"pn_apns":[],"pn_fcm":{"data":{"a":"1"}}}')
        self.assertEqual(code, 1)
        self.assertIn(("completed", "apns"), stages)
        self.assertEqual(stages[-1], ("completed", "fcm"))


if __name__ == "__main__":
    unittest.main()
