import Glibc
import Synchronization
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct EventLoopTests {
    @Test("Work from many threads runs once each, in the order of each thread")
    func mailbox() async throws {
        let threadCount = 8
        let perThread = 5000
        try await withLoop { loop in
            let log = LoopConfined(Log<[Int]>([]), on: loop)
            let threads = try (0..<threadCount).map { try SideThread(named: "sender \($0)") }
            for (number, thread) in threads.enumerated() {
                thread.run {
                    for index in 0..<perThread { loop.execute { log.value.entries.append([number, index]) } }
                }
            }
            try await loop.wait(for: "all work") { log.value.entries.count == threadCount * perThread }
            let entries = try await loop.run { log.value.entries }
            for number in 0..<threadCount {
                #expect(entries.filter { $0[0] == number }.map { $0[1] } == Array(0..<perThread))
            }
        }
    }

    @Test("Timers fire by deadline, equal ones in the order in which they were made")
    func timerOrder() async throws {
        try await withLoop { loop in
            let log = LoopConfined(Log<String>([]), on: loop)
            try await loop.run {
                for (name, milliseconds) in [("d", 30), ("b", 10), ("c", 10), ("a", 0), ("e", 30)] {
                    loop.schedule(after: .milliseconds(milliseconds)) { log.value.entries.append(name) }
                }
            }
            try await loop.wait(for: "the timers") { log.value.entries.count == 5 }
            #expect(try await loop.run { log.value.entries } == ["a", "b", "c", "d", "e"])
        }
    }

    @Test("Timers never fire before their time")
    func timersAreNotEarly() async throws {
        try await withLoop { loop in
            let early = LoopConfined(Log<Duration>([]), on: loop)
            let fired = LoopConfined(Log<Int>([]), on: loop)
            try await loop.run {
                for step in 0..<50 {
                    let due = loop.now + .microseconds(step * 700)
                    loop.schedule(after: .microseconds(step * 700)) {
                        fired.value.entries.append(step)
                        if LoopInstant.current < due { early.value.entries.append(due - .current) }
                    }
                }
            }
            try await loop.wait(for: "the timers") { fired.value.entries.count == 50 }
            #expect(try await loop.run { early.value.entries }.isEmpty)
        }
    }

    @Test("A thousand random timers, half of them cancelled, fire as a sorted list would")
    func randomTimers() async throws {
        try await withLoop { loop in
            let log = LoopConfined(Log<Int>([]), on: loop)
            let expected = try await loop.run {
                var generator = SystemRandomNumberGenerator()
                let delays = (0..<1000).map { _ in Int.random(in: 0..<20, using: &generator) }
                let timers = delays.enumerated().map { index, delay in
                    loop.schedule(after: .milliseconds(delay)) { log.value.entries.append(index) }
                }
                for (index, timer) in timers.enumerated() where index % 2 == 1 { timer.cancel() }
                timers[1].cancel()
                return delays.enumerated().filter { $0.offset % 2 == 0 }
                    .sorted { ($0.element, $0.offset) < ($1.element, $1.offset) }.map(\.offset)
            }
            try await loop.wait(for: "the timers") { log.value.entries.count >= expected.count }
            #expect(try await loop.run { log.value.entries } == expected)
        }
    }

    @Test("An action may cancel a timer that is due in the same turn, and itself, and plan another")
    func cancelInside() async throws {
        try await withLoop { loop in
            let log = LoopConfined(Log<String>([]), on: loop)
            try await loop.run {
                var second: LoopTimer?
                var first: LoopTimer?
                first = loop.schedule(after: .zero) {
                    log.value.entries.append("first")
                    first?.cancel()
                    second?.cancel()
                    loop.schedule(after: .zero) { log.value.entries.append("third") }
                    loop.schedule(after: .seconds(-5)) { log.value.entries.append("fourth") }
                }
                second = loop.schedule(after: .zero) { log.value.entries.append("second") }
                #expect(second?.isPending == true)
            }
            try await loop.wait(for: "the timers") { log.value.entries.count >= 3 }
            #expect(try await loop.run { log.value.entries } == ["first", "third", "fourth"])
        }
    }

    @Test("A timer that plans itself without delay does not keep work from other threads away")
    func zeroDelayIsFair() async throws {
        try await withLoop { loop in
            let count = LoopConfined(Log<Int>([]), on: loop)
            try await loop.run {
                @Sendable func again() {
                    count.value.entries = [count.value.entries.first.map { $0 + 1 } ?? 1]
                    loop.schedule(after: .zero) { again() }
                }
                again()
            }
            try await loop.wait(for: "many turns") { (count.value.entries.first ?? 0) > 100 }
        }
    }

    @Test("Actions for the end of a turn run in that turn, also those that they add")
    func endOfTurn() async throws {
        try await withLoop { loop in
            let log = LoopConfined(Log<String>([]), on: loop)
            try await loop.run {
                let now = loop.now
                loop.atEndOfTurn {
                    log.value.entries.append("first")
                    loop.atEndOfTurn { log.value.entries.append(loop.now == now ? "same turn" : "later turn") }
                }
                log.value.entries.append("body")
            }
            try await loop.wait(for: "the actions") { log.value.entries.count == 3 }
            #expect(try await loop.run { log.value.entries } == ["body", "first", "same turn"])
        }
    }

    @Test("A loop on the calling thread ends with stop, and takes work before and not after")
    func runOnThisThread() async throws {
        let loop = try EventLoop()
        let count = Atomic<Int>(0)
        let thread = try SideThread(named: "owner")
        let ended = Atomic<Bool>(false)
        loop.execute { count.add(1, ordering: .relaxed) }
        thread.run {
            loop.run()
            ended.store(true, ordering: .sequentiallyConsistent)
        }
        #expect(try await loop.run { loop.isCurrent })
        loop.stop()
        try await withLoop { other in
            try await other.wait(for: "the end") { ended.load(ordering: .sequentiallyConsistent) }
        }
        #expect(count.load(ordering: .relaxed) == 1)
        await #expect(throws: TransportError.stopped) { try await loop.run {} }
    }

    @Test("An error of work on the loop reaches the one who waits")
    func errors() async throws {
        try await withLoop { loop in
            await #expect(throws: TransportError.deadline("x")) {
                try await loop.run { throw TransportError.deadline("x") }
            }
        }
    }

    @Test("An actor lives on a loop, and its methods run on the loop's thread")
    func executor() async throws {
        try await withLoop { loop in
            let counter = LoopActor(loop: loop)
            for expected in 1...1000 {
                #expect(await counter.increment() == expected)
            }
            let value = try await loop.run { counter.assumeIsolated { $0.value } }
            #expect(value == 1000)
        }
    }

    @Test("The wall clock is close to the system's, and durations are cut instead of overflowing")
    func clocks() async throws {
        try await withLoop { loop in
            let before = currentUnixMilliseconds()
            // In a turn of its own: the time is cached within one.
            let milliseconds = try await loop.run { loop.unixMilliseconds }
            #expect((before - 1...currentUnixMilliseconds() + 1).contains(milliseconds))
        }
        let now = LoopInstant.current
        #expect(now + .seconds(Int64.max) == LoopInstant(nanoseconds: .max))
        #expect((now - .seconds(2)) + .seconds(2) == now)
        #expect((now + .milliseconds(3)) - now == .milliseconds(3))
        #expect(Duration.nanoseconds(1).clampedMilliseconds == 1)
        #expect(Duration.seconds(Int64.min).clampedNanoseconds == .min)
    }

    @Test("A side thread does its work in order and hands results to the loop")
    func sideThread() async throws {
        let thread = try SideThread(named: "side")
        try await withLoop { loop in
            let log = LoopConfined(Log<Int>([]), on: loop)
            try await loop.run {
                for index in 0..<100 {
                    thread.run({ index * 2 }, on: loop) { log.value.entries.append($0) }
                }
            }
            try await loop.wait(for: "the results") { log.value.entries.count == 100 }
            #expect(try await loop.run { log.value.entries } == (0..<100).map { $0 * 2 })
        }
    }

    @Test("Signals reach the loop")
    func signals() async throws {
        try await withLoop { loop in
            let log = LoopConfined(Log<Signals.Signal>([]), on: loop)
            let signals = try await loop.run {
                // Only for this thread: the signals are sent to it alone.
                Signals.block()
                let signals = try Signals(on: loop) { log.value.entries.append($0) }
                for number in [SIGHUP, SIGTERM, SIGINT] { pthread_kill(pthread_self(), number) }
                return LoopConfined(signals, on: loop)
            }
            try await loop.wait(for: "the signals") { log.value.entries.count == 3 }
            let received = try await loop.run {
                signals.value.close()
                return log.value.entries
            }
            #expect(received.contains(.hangUp) && received.contains(.terminate) && received.contains(.interrupt))
        }
    }
}

/// What happened, in order; confined to a loop.
final class Log<Entry> {
    var entries: [Entry]

    init(_ entries: [Entry]) {
        self.entries = entries
    }
}
