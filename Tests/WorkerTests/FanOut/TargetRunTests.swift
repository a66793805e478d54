import Testing

@testable import Worker

@Suite("Targets that end before their fan-out")
struct TargetRunTests {
    @Test("Such a target finishes its message, also with members in its set that are no tokens")
    func finishesWithUnusableMembers() throws {
        let text = Array(#"{"pn_apns":{"aps":{},"pn_push":{"targets":[{"topic":"com.example.app"}]}}}"#.utf8)
        let message = QueuedMessage(entryID: [], id: "1-0", channel: [], message: text, received: 1)
        let plan = Plan.make(text, received: 1, settings: PlanSettings())
        let target = try #require(plan.targets.first)
        for ending in [TargetEnding.expired, .failed(reason: "NoCredential", text: "none")] {
            let owner = RunWitness()
            let context = MessageContext(message, plan: plan, trace: nil)
            let run = TargetRun(
                message: MessageRun(context, kind: .messages, entryID: [], targetCount: 1, owner: owner),
                number: 0,
                target: target,
                ending: ending
            )
            #expect(run.take(page: [Array("ab01".utf8), Array("zz".utf8)], isLast: true).isEmpty)
            #expect(owner.finishedCount == 1)
            #expect(run.tally.expected == 2)
            #expect(run.tally.errored + run.tally.expired == 2)
        }
    }
}

/// Counts what a run tells.
final class RunWitness: MessageRunOwner {
    private(set) var finishedCount = 0
    private(set) var outcomeCount = 0

    func finished(_ run: MessageRun) { finishedCount += 1 }

    func hasOutcomes(_ run: MessageRun) { outcomeCount += 1 }
}
