import Testing

@testable import Worker

@Suite("Outcomes of an unfinished entry, as Redis keeps them")
struct StoredOutcomesTests {
    private func bytes(_ records: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        for record in records { bytes.append(littleEndian: record) }
        return bytes
    }

    @Test("Each outcome is found again, by its token and target alone", arguments: StoredOutcome.allCases)
    func finds(outcome: StoredOutcome) {
        let token = Array("ab12".utf8)
        let stored = StoredOutcomes(records: bytes([outcome.record(token: token, target: 3)]))
        #expect(stored.outcome(token: token, target: 3) == outcome)
        #expect(stored.outcome(token: token, target: 2) == nil)
        #expect(stored.outcome(token: Array("ab13".utf8), target: 3) == nil)
    }

    @Test("The outcomes of pushes and their records belong together")
    func outcomes() {
        for outcome in [Outcome.sent, .removed, .errored, .expired] {
            #expect(StoredOutcome(outcome).outcome == outcome)
        }
        #expect(StoredOutcome.delayed.outcome == nil)
    }

    @Test("Twice the same does no harm, and of two outcomes the later one counts")
    func repeated() {
        let records = [StoredOutcome.delayed, .sent, .sent].map { $0.record(token: [1], target: 0) }
        #expect(StoredOutcomes(records: bytes(records)).outcome(token: [1], target: 0) == .sent)
    }

    @Test("What is cut short, and records of a later version, are not looked at")
    func damaged() {
        let good = bytes([StoredOutcome.sent.record(token: [1], target: 0)])
        let unknown = bytes([StoredOutcome.sent.record(token: [2], target: 0) | 7])
        let stored = StoredOutcomes(records: unknown + good + good.prefix(5))
        #expect(stored.outcome(token: [1], target: 0) == .sent)
        #expect(stored.outcome(token: [2], target: 0) == nil)
        #expect(StoredOutcomes(records: [1, 2, 3]).isEmpty)
        #expect(StoredOutcomes().isEmpty)
    }

    @Test("A hundred thousand devices do not take each other's outcomes")
    func many() {
        let tokens = (0..<100_000).map { Array("token-\($0)".utf8) }
        let records = tokens.prefix(50_000).map { StoredOutcome.sent.record(token: $0, target: 0) }
        let stored = StoredOutcomes(records: bytes(records))
        let known = tokens.filter { stored.outcome(token: $0, target: 0) != nil }
        #expect(known.count == 50_000)
    }
}
