import Testing

@testable import Worker

@Suite("Targets that end before their fan-out")
struct TargetRunTests {
    @Test("Such a target finishes its message, also with members in its set that are no tokens")
    func finishesWithUnusableMembers() throws {
        let text = Array(#"{"pn_apns":{"aps":{},"pn_push":{"targets":[{"topic":"com.example.app"}]}}}"#.utf8)
        let message = QueuedMessage(entryID: [], id: "1-0", channel: [], message: text, received: 1)
        let target = try #require(Plan.make(text, received: 1, settings: PlanSettings()).targets.first)
        for ending in [TargetEnding.expired, .failed(reason: "NoCredential", text: "none")] {
            var finished = 0
            let run = TargetRun(
                message: MessageRun(message, trace: nil, targetCount: 1) { _ in finished += 1 },
                target: target,
                ending: ending
            )
            #expect(run.take(page: [Array("ab01".utf8), Array("zz".utf8)], isLast: true).isEmpty)
            #expect(finished == 1)
            #expect(run.tally.expected == 2)
            #expect(run.tally.errored + run.tally.expired == 2)
        }
    }
}
