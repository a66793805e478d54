import Testing
import Transport

@testable import Worker

@Suite("Redis' clock")
struct RedisClockTests {
    private func instant(_ milliseconds: Int64) -> LoopInstant {
        LoopInstant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test("Until Redis has told its time the wall clock stands in")
    func withoutSample() {
        #expect(RedisClock().unixMilliseconds(at: instant(5), wall: 77) == 77)
    }

    @Test("The answer holds for the middle of its round trip, and the clock runs on from there")
    func sample() {
        var clock = RedisClock()
        clock.note(unixMilliseconds: 1_000_000, asked: instant(100), answered: instant(120))
        #expect(clock.unixMilliseconds(at: instant(110), wall: 0) == 1_000_000)
        #expect(clock.unixMilliseconds(at: instant(2110), wall: 0) == 1_002_000)
    }

    @Test("A slower answer does not replace a quick one, until that is old")
    func quickest() {
        var clock = RedisClock()
        clock.note(unixMilliseconds: 1_000_000, asked: instant(0), answered: instant(2))
        clock.note(unixMilliseconds: 9_000_000, asked: instant(10), answered: instant(500))
        #expect(clock.unixMilliseconds(at: instant(1), wall: 0) == 1_000_000)
        clock.note(unixMilliseconds: 9_000_000, asked: instant(70_000), answered: instant(70_400))
        #expect(clock.unixMilliseconds(at: instant(70_200), wall: 0) == 9_000_000)
    }
}
