import Testing
import Transport

@testable import Worker

@Suite("What a replica remembers and writes")
struct IngestStateTests {
    private static let first = StretchID(number: 1000, suffix: 7)
    private static let second = StretchID(number: 2000, suffix: 8)

    private func at(_ milliseconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: milliseconds * 1_000_000) }

    /// In step with Redis, in the first stretch.
    private func state(_ lease: IngestBeatAnswer.Lease, maximumBytes: Int = 10_000) -> IngestState {
        var state = IngestState(maximumBytes: maximumBytes)
        state.joined(at: Self.first)
        beat(&state, lease, at: 0)
        return state
    }

    private func beat(
        _ state: inout IngestState,
        _ lease: IngestBeatAnswer.Lease,
        mark: Int64 = 1000,
        counts: [Int?] = [],
        at time: Int64
    ) {
        let beat = state.beat(now: at(time))
        #expect(beat.stretches.count == counts.count)
        let answer = IngestBeatAnswer(lease: lease, newestMark: mark, published: nil, counts: counts)
        state.answered(beat, answer, now: at(time))
    }

    private func hear(_ state: inout IngestState, _ message: [UInt8] = [], at time: Int64) -> Bool {
        state.heard()
        return state.remember(channel: [], message: message, now: at(time))
    }

    /// The numbers of all that is to be written now.
    private func writes(_ state: inout IngestState, at time: Int64) -> [IngestWrite] {
        var writes: [IngestWrite] = []
        while let write = state.nextWrite(now: at(time)) { writes.append(write) }
        return writes
    }

    @Test("Who holds the lease writes at once, under names that count every message")
    func holder() {
        var state = state(.mine)
        #expect(hear(&state, at: 10))
        state.heard()
        #expect(hear(&state, at: 11))
        state.heardMark(Self.second, now: at(12))
        #expect(hear(&state, at: 13))
        let writes = writes(&state, at: 14)
        #expect(writes.map(\.stretch) == [Self.first, Self.first, Self.second])
        #expect(writes.map(\.number) == [1, 3, 1])
        #expect(writes.map(\.previous) == [0, 1, 0])
        #expect(self.writes(&state, at: 9999).isEmpty)
    }

    @Test("Others write what is not in the queue after five seconds, and only that")
    func overdue() {
        var state = state(.ofOther)
        for time in [10, 20, 30] { #expect(hear(&state, at: Int64(time))) }
        beat(&state, .ofOther, counts: [1], at: 4000)
        #expect(writes(&state, at: 5019).isEmpty)
        #expect(writes(&state, at: 5020).map(\.number) == [2])
        #expect(state.uncoveredCount == 2)
    }

    @Test("What Redis has shown as written for three seconds is forgotten, and not before")
    func retention() {
        var state = state(.mine)
        #expect(hear(&state, at: 10))
        for write in writes(&state, at: 10) { state.answered(write.ticket, count: 1) }
        for time in [1000, 2000, 3000, 3999] { beat(&state, .mine, counts: [1], at: Int64(time)) }
        // Redis was lost, and with it the write.
        state.commandsReset()
        #expect(writes(&state, at: 4000).isEmpty)
        beat(&state, .mine, counts: [0], at: 4100)
        let again = writes(&state, at: 4100)
        #expect(again.map(\.number) == [1])
        state.answered(again[0].ticket, count: 1)
        for time in [5000, 6000, 7000] { beat(&state, .mine, counts: [1], at: Int64(time)) }
        beat(&state, .mine, counts: [1], at: 8000)
        beat(&state, .mine, counts: [], at: 9000)
        #expect(state.bytes == 0)
    }

    @Test("What Redis has lost of the middle comes first, then what follows")
    func behind() {
        var state = state(.mine)
        for time in [10, 20, 30] { #expect(hear(&state, at: Int64(time))) }
        let writes = writes(&state, at: 30)
        state.answered(writes[0].ticket, count: 1)
        state.refused(writes[1].ticket, now: at(40))
        state.answered(writes[2].ticket, count: 1)
        #expect(self.writes(&state, at: 1039).isEmpty)
        #expect(self.writes(&state, at: 1040).map(\.number) == [2, 3])
    }

    @Test("A message whose predecessor nobody remembers is written all the same, a little later")
    func gap() {
        var state = state(.mine, maximumBytes: 700)
        #expect(hear(&state, [UInt8](repeating: 0, count: 200), at: 10))
        for write in writes(&state, at: 10) { state.answered(write.ticket, count: 1) }
        // Makes room for this one by forgetting the first, which Redis then loses.
        #expect(hear(&state, [UInt8](repeating: 0, count: 400), at: 20))
        state.commandsReset()
        beat(&state, .mine, counts: [0], at: 100)
        #expect(writes(&state, at: 10_019).isEmpty)
        let late = writes(&state, at: 10_020)
        #expect(late.map(\.number) == [2])
        #expect(late.map(\.previous) == [0])
    }

    @Test("Memory is bounded: what is in the queue goes first, then what comes new")
    func bound() {
        var state = state(.mine, maximumBytes: 1000)
        let message = [UInt8](repeating: 0, count: 300)
        #expect(hear(&state, message, at: 10))
        #expect(hear(&state, message, at: 20))
        #expect(!hear(&state, message, at: 30))
        state.answered(writes(&state, at: 30)[0].ticket, count: 1)
        #expect(hear(&state, message, at: 40))
        let next = writes(&state, at: 40)
        #expect(next.map(\.number) == [4])
        #expect(next.map(\.previous) == [2])
    }

    @Test("A subscription is deaf when a mark is not heard and nothing else comes")
    func deafness() {
        var state = state(.ofOther)
        state.heardMark(Self.second, now: at(100))
        beat(&state, .ofOther, mark: 2000, at: 1000)
        #expect(!state.isDeaf(now: at(9000), lastInput: at(100)))
        beat(&state, .ofOther, mark: 3000, at: 2000)
        #expect(!state.isDeaf(now: at(2499), lastInput: at(0)))
        #expect(state.isDeaf(now: at(2500), lastInput: at(0)))
        #expect(!state.isDeaf(now: at(2500), lastInput: at(1)))
        state.subscriptionLost()
        #expect(!state.isDeaf(now: at(9000), lastInput: at(0)))
    }

    @Test("A clean stop hears up to the mark with which the lease was given up, and writes what is left")
    func stop() {
        var state = state(.mine)
        state.stop()
        #expect(!state.mayUnsubscribe)
        let beat = state.beat(now: at(10))
        #expect(!beat.isAble)
        #expect(hear(&state, at: 11))
        let answer = IngestBeatAnswer(lease: .free, newestMark: 2000, published: Self.second, counts: [])
        state.answered(beat, answer, now: at(20))
        #expect(!state.mayUnsubscribe)
        state.heardMark(Self.second, now: at(30))
        #expect(state.mayUnsubscribe)
        #expect(!state.isSettled)
        state.answered(writes(&state, at: 30)[0].ticket, count: 1)
        #expect(state.isSettled)
    }

    @Test("What was heard between two marks has no name, and is another's to write while it holds the lease")
    func nameless() {
        var state = IngestState()
        state.joined(at: nil)
        #expect(hear(&state, at: 10))
        beat(&state, .ofOther, at: 20)
        #expect(writes(&state, at: 30).isEmpty)
        beat(&state, .free, at: 1000)
        beat(&state, .mine, at: 2000)
        #expect(writes(&state, at: 2000).map(\.stretch) == [nil])
        #expect(hear(&state, at: 2010))
        beat(&state, .ofOther, at: 7010)
        beat(&state, .mine, at: 8000)
        #expect(writes(&state, at: 8000).isEmpty)
    }

    @Test(
        "Marks are read, and what is none is not",
        arguments: [
            ("1764500000000-5", StretchID(number: 1_764_500_000_000, suffix: 5), false),
            ("1-4294967295 free", StretchID(number: 1, suffix: .max), true),
            ("", nil, false), ("free", nil, false), ("-", nil, false), ("1-", nil, false), ("0-1", nil, false),
            ("1-4294967296", nil, false), ("1-2-3", nil, false), ("9223372036854775808-1", nil, false),
        ] as [(String, StretchID?, Bool)]
    )
    func marks(text: String, stretch: StretchID?, isFree: Bool) {
        let mark = Mark(Array(text.utf8))
        #expect(mark?.stretch == stretch)
        #expect(mark?.isLeaseFree ?? false == isFree)
    }

    @Test("The id of a message has the form of an entry's id, and its mark's time")
    func messageID() {
        #expect(Self.first.messageID(3) == "1000-30064771075")
        #expect(StretchID(number: 1, suffix: .max).messageID(1) == "1-18446744069414584321")
    }
}
