import Testing

@testable import Worker

@Suite("Ingest in a model of Redis and its replicas", .timeLimit(.minutes(1)))
struct IngestModelTests {
    static let schedules = 500

    @Test("Whatever happens, what a living replica heard is in the queue once", arguments: 0..<8)
    func schedules(part: Int) {
        for seed in part * Self.schedules..<(part + 1) * Self.schedules {
            let failures = IngestModel(seed: UInt64(seed)).play(steps: 160)
            #expect(failures.isEmpty, "seed \(seed)")
            if !failures.isEmpty { break }
        }
    }

    @Test("The model notices what is left out", arguments: Ablation.allCases)
    func ablations(_ ablation: Ablation) {
        let seeds = 0..<8 * Self.schedules
        let found = seeds.first { !IngestModel(seed: UInt64($0), ablation: ablation).play(steps: 160).isEmpty }
        #expect(found != nil)
    }

    @Test("Where nothing fails, each message is written by one script, however many replicas there are")
    func cost() {
        for seed in 0..<20 {
            let model = IngestModel(seed: UInt64(seed), isCalm: true)
            model.settle()
            for _ in 0..<100 {
                model.publish()
                model.settle(rounds: 1)
            }
            model.settle()
            #expect(model.redis.writeCount == model.redis.entries.count)
            #expect(model.redis.entries.count >= model.kinds.count { $0 == .push })
        }
    }
}
