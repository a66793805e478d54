import Testing
import Transport

@testable import Worker

@Suite("Entries that a worker has taken")
struct TakenEntriesTests {
    private func at(_ seconds: Double) -> LoopInstant { LoopInstant(nanoseconds: Int64(seconds * 1e9)) }

    @Test("An entry is taken once, until Redis knows that it is finished")
    func once() {
        var entries = TakenEntries()
        let takes = [entries.take([1], now: at(0)), entries.take([1], now: at(1)), entries.take([2], now: at(1))]
        #expect(takes == [true, false, true])
        entries.release([[1], [3]])
        #expect(entries.count == 1)
        let again = entries.take([1], now: at(2))
        #expect(again)
    }

    @Test("Signs of life are due a second after the last one")
    func due() {
        var entries = TakenEntries()
        _ = entries.take([1], now: at(0))
        _ = entries.take([2], now: at(0.5))
        #expect(entries.due(now: at(0.9)).isEmpty)
        #expect(entries.due(now: at(1)) == [[[1]]])
        #expect(entries.due(now: at(1.6)) == [[[2]]])
        #expect(entries.due(now: at(2)) == [[[1]]])
    }

    @Test("Many entries need several commands")
    func batches() {
        var entries = TakenEntries()
        for number in 0..<1200 { _ = entries.take([UInt8(number / 256), UInt8(number % 256)], now: at(0)) }
        let batches = entries.due(now: at(5))
        #expect(batches.map(\.count) == [500, 500, 200])
        #expect(Set(batches.flatMap { $0 }).count == 1200)
    }
}

@Suite("The pace of takeovers")
struct TakeoverPaceTests {
    private func at(_ seconds: Double) -> LoopInstant { LoopInstant(nanoseconds: Int64(seconds * 1e9)) }

    @Test("A new worker looks at once; after a lost connection the others first get time to come back")
    func connections() {
        var pace = TakeoverPace()
        pace.connected(now: at(100))
        #expect(pace.mayAsk(now: at(100)))
        pace.connected(now: at(200))
        #expect(!pace.mayAsk(now: at(207)))
        #expect(pace.mayAsk(now: at(208)))
    }

    @Test("After a slow answer nothing is taken over until the others could show that they live")
    func slowAnswers() {
        var pace = TakeoverPace()
        pace.connected(now: at(0))
        let prompt = pace.answered(asked: at(10), now: at(10.5))
        let slow = pace.answered(asked: at(12), now: at(15))
        let early = pace.answered(asked: at(22.8), now: at(22.9))
        let late = pace.answered(asked: at(23), now: at(23.1))
        #expect([prompt, slow, early, late] == [true, false, false, true])
    }
}
