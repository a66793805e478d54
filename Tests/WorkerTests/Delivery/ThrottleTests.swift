import Testing
import Transport
import Worker

@Suite("Sparing a provider")
struct ThrottleTests {
    private let start = LoopInstant(nanoseconds: 1_000_000_000_000)

    /// How many pushes go within a time, asked each millisecond.
    private func count(_ throttle: inout Throttle, from begin: Duration, to end: Duration) -> Int {
        var count = 0
        var now = start + begin
        while now < start + end {
            while !throttle.isFree, throttle.take(now: now) == nil { count += 1 }
            now = now + .milliseconds(1)
        }
        return count
    }

    @Test("Nothing goes in a pause; then a hundred a second, doubled every eight seconds; after a minute all")
    func ramp() {
        var throttle = Throttle()
        #expect(throttle.isFree && throttle.take(now: start) == nil)
        throttle.pause(for: .seconds(10), now: start)
        #expect(throttle.take(now: start + .seconds(4)) == .seconds(6))
        #expect(throttle.pause(now: start + .seconds(4)) == .seconds(6))
        #expect(throttle.pause(now: start + .seconds(10)) == nil)
        #expect((90...125).contains(count(&throttle, from: .seconds(10), to: .seconds(11))))
        #expect((180...230).contains(count(&throttle, from: .seconds(18), to: .seconds(19))))
        #expect((360...460).contains(count(&throttle, from: .seconds(26), to: .seconds(27))))
        #expect(throttle.take(now: start + .seconds(70)) == nil)
        #expect(throttle.isFree)
    }

    @Test("The rate has no steps")
    func rate() {
        #expect(Throttle.rate(age: .zero) == 100)
        #expect(Throttle.rate(age: .seconds(8)) == 200)
        #expect(Throttle.rate(age: .seconds(4)) == 150)
        #expect(Throttle.rate(age: .seconds(56)) == 12_800)
        #expect(Throttle.rate(age: .seconds(-5)) == 100)
    }

    @Test("A wait for the next push is as long as the rate says")
    func waits() {
        var throttle = Throttle()
        throttle.pause(for: .zero, now: start)
        let wait = throttle.take(now: start) ?? .zero
        #expect(wait >= .milliseconds(9) && wait <= .milliseconds(11))
        #expect(throttle.take(now: start + wait) == nil)
    }

    @Test("A shorter pause does not end a longer one")
    func longest() {
        var throttle = Throttle()
        throttle.pause(for: .seconds(60), now: start)
        throttle.pause(for: .seconds(1), now: start)
        #expect(throttle.pause(now: start + .seconds(30)) == .seconds(30))
    }

    @Test("Ten answers within ten seconds that name neither device nor project mean the project")
    func unclear() {
        var throttle = Throttle()
        for second in 0..<9 { #expect(throttle.noteUnclear(now: start + .seconds(second)) == false) }
        #expect(throttle.noteUnclear(now: start + .seconds(9)) == true)
        var slow = Throttle()
        for second in 0..<100 { #expect(slow.noteUnclear(now: start + .seconds(second * 2)) == false) }
    }

    @Test("A device is spared for itself, remembered for a while, and forgotten when it accepts")
    func devices() {
        var holds = DeviceHolds()
        let device = Array("ab".utf8)
        holds.hold(device, for: .seconds(2), strikes: 1, now: start)
        #expect(holds.wait(device, now: start + .seconds(1)) == .seconds(1))
        #expect(holds.wait(Array("cd".utf8), now: start) == nil)
        #expect(holds.wait(device, now: start + .seconds(2)) == nil)
        #expect(holds.strikes(device) == 1)
        holds.forget(now: start + .seconds(60))
        #expect(holds.strikes(device) == 1)
        holds.forget(now: start + .seconds(2000))
        #expect(holds.isEmpty)
        holds.hold(device, for: .seconds(2), strikes: 5, now: start)
        holds.release(device)
        #expect(holds.strikes(device) == 0 && holds.isEmpty)
    }

    @Test("The table of devices is bounded")
    func bounded() {
        var holds = DeviceHolds()
        for number in 0..<(DeviceHolds.maximumCount + 500) {
            holds.hold(Array("\(number)".utf8), for: .seconds(60), strikes: 1, now: start)
        }
        #expect(holds.count == DeviceHolds.maximumCount)
        holds.hold(Array("x".utf8), for: .seconds(60), strikes: 1, now: start + .seconds(61))
        #expect(holds.count == 1)
    }

    @Test("A cause gets new connections once in ten minutes, and late refusals from the old ones another try")
    func reconnections() {
        var reconnections = Reconnections()
        #expect(reconnections.decide("TopicDisallowed a", now: start) == .reconnect)
        #expect(reconnections.decide("TopicDisallowed a", now: start + .seconds(4)) == .again)
        #expect(reconnections.decide("TopicDisallowed b", now: start + .seconds(4)) == .reconnect)
        #expect(reconnections.decide("TopicDisallowed a", now: start + .seconds(5)) == .hopeless)
        #expect(reconnections.decide("TopicDisallowed a", now: start + .seconds(599)) == .hopeless)
        #expect(reconnections.decide("TopicDisallowed a", now: start + .seconds(600)) == .reconnect)
    }

    @Test("The same alarm comes once a minute")
    func alarms() {
        var alarms = Alarms()
        #expect(alarms.isDue("BadTopic", now: start) == true)
        #expect(alarms.isDue("BadTopic", now: start + .seconds(59)) == false)
        #expect(alarms.isDue("Forbidden", now: start + .seconds(59)) == true)
        #expect(alarms.isDue("BadTopic", now: start + .seconds(60)) == true)
    }
}
