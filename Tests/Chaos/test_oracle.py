"""The judge of `scripts/chaos` finds what is wrong, and excuses exactly what a fault explains."""

import unittest

import oracle
import schedule
from history import History, Life, Outage
from oracle import Judge, Publication, Reception

DEVICE = ("apns production", "ab")
PHONE = ("fcm", "phone")
CHANNELS = {"chat": {DEVICE}, "phones": {PHONE}}


def published(number=1, at=100.0, receivers=2, is_xadd=False, channel="chat"):
    return Publication(number, channel, is_xadd, at, at + 0.001, receivers)


def came(at, sender="one", number=1, device=DEVICE, status=200, apns_id="id"):
    return Reception(number, *device, sender, at, status, apns_id if device == DEVICE else None)


class Case(unittest.TestCase):
    def setUp(self):
        self.history = History(lives={name: Life(name, 0) for name in ("one", "two")})
        self.one, self.two = self.history.lives.values()

    def judge(self, publications, receptions):
        return Judge(self.history).judge(publications, CHANNELS, receptions)

    def check(self, publications, receptions, allowed=None, **figures):
        names = {"lost": oracle.LOST, "calm": oracle.CALM, "beyond": oracle.BEYOND, "identity": oracle.IDENTITY,
                 "unknown": oracle.UNKNOWN, "refused": oracle.REFUSED}
        verdict = self.judge(publications, receptions)
        self.assertEqual(dict(verdict.figures), {names[name]: count for name, count in figures.items()}, verdict.examples)
        self.assertEqual(dict(verdict.allowed), allowed or {})


class WithoutFaults(Case):
    def test_each_once_is_good(self):
        self.check([published()], [came(100.1)])
        self.check([published(channel="phones")], [came(100.1, device=PHONE)])

    def test_a_push_that_did_not_come_is_lost(self):
        self.check([published()], [], lost=1)
        self.check([published()], [came(100.1, status=503)], lost=1)

    def test_a_push_that_came_twice_is_repeated(self):
        self.check([published()], [came(100.1), came(100.2, "two")], calm=1)
        self.check([published(channel="phones")], [came(100.1, device=PHONE), came(100.2, device=PHONE)], calm=1)

    def test_an_equal_message_is_another_push(self):
        self.check([published(), published(at=100.5)], [came(100.1, apns_id="a"), came(100.6, apns_id="b")])
        self.check([published(), published(at=100.5)], [came(100.1), came(100.6)], lost=1, calm=1)
        self.check([published(), published(at=100.5)], [came(100.1)], lost=1)
        self.check([published(), published()], [came(100.1, apns_id=name) for name in "abc"], identity=1)

    def test_what_nobody_published_is_seen(self):
        self.check([published()], [came(100.1), came(100.1, number=7)], unknown=1)
        self.check([published()], [came(100.1), came(100.1, device=PHONE)], unknown=1)
        self.check([published()], [came(100.1), came(100.1, status=400)], refused=1)


class Counting(Case):
    def test_what_nobody_heard_may_be_lost(self):
        self.check([published(receivers=0)], [])
        self.check([published(receivers=None)], [])
        self.check([published(receivers=0, is_xadd=False)], [came(100.1)])

    def test_what_only_killed_workers_heard_may_be_lost(self):
        self.one.killed = self.one.ended = 101.0
        self.check([published()], [], lost=1)
        self.check([published(receivers=1)], [])
        self.two.killed = self.two.ended = 106.0
        self.check([published()], [])
        self.check([published(is_xadd=True)], [], lost=1)

    def test_a_worker_that_is_dead_may_still_be_counted_by_redis(self):
        self.one.killed = self.one.ended = 99.9
        self.check([published(receivers=1)], [])
        self.check([published(receivers=1, at=100.5)], [], lost=1)

    def test_a_worker_without_redis_has_not_had_its_time(self):
        self.history.outages.append(Outage(101.0, 103.0, 0.5))
        self.one.killed = self.one.ended = 110.0
        self.check([published(receivers=2)], [], lost=1)
        self.two.killed = self.two.ended = 110.0
        self.check([published(receivers=2)], [])

    def test_what_stands_still_or_leaves_does_not_count_as_hearing(self):
        self.one.stops.append((99.0, 105.0))
        self.two.terminated, self.two.ended = 99.5, 100.5
        self.check([published()], [])

    def test_who_left_just_before_redis_lost_writes_remembers_nothing(self):
        self.one.terminated, self.one.ended = 101.0, 101.5
        self.check([published(receivers=1)], [], lost=1)
        self.history.outages.append(Outage(102.0, 103.0, 1.0))
        self.check([published(receivers=1)], [])
        self.check([published(receivers=2)], [], lost=1)

    def test_an_entry_that_redis_may_have_lost_may_be_lost(self):
        self.history.outages.append(Outage(100.5, 101.5, 1.0))
        self.check([published(is_xadd=True)], [])
        self.check([published(is_xadd=True, at=80.0)], [], lost=1)
        self.check([published()], [], lost=1)
        self.history.outages[0].survivors[1] = 1
        self.check([published(is_xadd=True)], [], lost=1)
        self.check([published(is_xadd=True), published(is_xadd=True)], [], lost=1)

    def test_messages_while_redis_goes_or_while_connections_are_cut_may_be_lost(self):
        self.history.outages.append(Outage(100.1, 101.0, 1.0))
        self.check([published()], [])
        self.history.cuts.append(200.0)
        self.check([published(at=200.0)], [])


class Repeats(Case):
    def test_at_a_kill_what_was_just_sent_may_be_repeated_by_another(self):
        self.one.killed = self.one.ended = 100.3
        self.check([published()], [came(100.1), came(106, "two")], {"killed": 1})
        self.check([published(at=90)], [came(98.0), came(106, "two")], beyond=1)
        self.check([published(at=80)], [came(90.0), came(90.5, "two")], calm=1)
        self.check([published()], [came(100.1, "two"), came(100.2, "two")], calm=1)

    def test_a_repeat_has_the_same_id(self):
        self.one.killed = self.one.ended = 100.3
        self.check([published()], [came(100.1), came(106, "two", apns_id="other")], identity=1)

    def test_a_killed_worker_without_redis_had_not_stored(self):
        self.history.outages.append(Outage(101, 104))
        self.one.killed = self.one.ended = 105
        self.check([published()], [came(100.5), came(111, "two")], {"killed": 1})

    def test_at_a_stop_too(self):
        self.one.stops.append((100.3, 106.3))
        self.check([published()], [came(100.1), came(105.5, "two")], {"stopped": 1})
        self.check([published()], [came(105.5, "two"), came(106.4)], {"late output of a stopped worker": 1})
        self.check([published()], [came(105.5, "two"), came(109)], calm=1)
        self.check([published(at=90)], [came(98), came(105.5, "two")], beyond=1)

    def test_what_a_provider_dropped_is_sent_again(self):
        self.history.drops.append((100.2, 100.2))
        self.check([published()], [came(100.1), came(100.4)], {"dropped by the provider": 1})
        self.check([published(at=98)], [came(98.1), came(100.4)], beyond=1)
        self.history.goaways.append((200, 200))
        self.check([published(at=199)], [came(199.9), came(200.1)], calm=1)

    def test_a_busy_machine_has_more_time(self):
        self.one.killed = self.one.ended = 100.3
        pushes = [came(99.4), came(106, "two")]
        self.check([published(at=99)], pushes, beyond=1)
        self.history.pulses.append((99.9, 0.05))
        self.check([published(at=99)], pushes, beyond=1)
        self.history.pulses.append((100.0, 0.3))
        self.check([published(at=99)], pushes, {"killed": 1})

    def test_redis_may_forget_its_last_second(self):
        self.history.outages.append(Outage(101, 102, 1.0))
        self.check([published()], [came(100.1), came(103, "two")], {"Redis crashed": 1})
        self.check([published(at=98)], [came(98.1), came(103, "two")], beyond=1)
        self.history.outages.append(Outage(98.2, 101))
        self.check([published(at=98)], [came(98.1), came(103, "two")], {"Redis crashed": 1})
        self.history.outages[0].lost = None
        self.check([published()], [came(100.1), came(103, "two")], calm=1)

    def test_of_equal_messages_without_ids_only_those_too_many_need_an_excuse(self):
        two = [published(channel="phones"), published(channel="phones")]
        self.check(two, [came(100 + at, device=PHONE) for at in (0.1, 0.2)])
        self.check(two, [came(100 + at, device=PHONE) for at in (0.1, 0.2, 0.3)], calm=1)
        self.one.killed = self.one.ended = 100.3
        self.check(two, [came(100.1, device=PHONE), came(100.2, device=PHONE), came(106, "two", device=PHONE)], {"killed": 1})


class Schedule(unittest.TestCase):
    def test_a_seed_gives_one_schedule(self):
        self.assertEqual(schedule.make(7, 50, 100), schedule.make(7, 50, 100))
        self.assertNotEqual(schedule.make(7, 50, 100), schedule.make(8, 50, 100))

    def test_all_kinds_come_in_time_and_in_order(self):
        faults = schedule.make(1, 20, 60)
        self.assertEqual({fault.kind for fault in faults}, set(schedule.WEIGHTS))
        self.assertEqual(len(faults), 20)
        self.assertEqual(sorted(faults, key=lambda fault: fault.at), faults)
        self.assertTrue(all(1 <= fault.at <= 60 for fault in faults))


if __name__ == "__main__":
    unittest.main()
