import Testing

@testable import Worker

@Suite("One queue entry on its way")
struct MessageRunTests {
    @Test("Its first push is told once, and no other")
    func begins() {
        let scene = RunScene()
        #expect(!scene.run.hasBegun)
        scene.run.begin()
        scene.run.begin()
        #expect(scene.run.hasBegun)
        #expect(scene.owner.beginCount == 1)
    }

    @Test("Outcomes are told when there is a first one, and given out once")
    func outcomes() {
        let scene = RunScene(targets: 2)
        for token in RunScene.tokens(0..<3) { scene.run.note(.sent, token: token, target: 1) }
        #expect(scene.owner.outcomeCount == 1)
        #expect(!scene.run.hasStored)
        let stored = StoredOutcomes(records: scene.run.takeFresh() ?? [])
        #expect(stored.outcome(token: RunScene.tokens(2..<3)[0], target: 1) == .sent)
        #expect(scene.run.hasStored)
        #expect(scene.run.takeFresh() == nil)
        scene.run.note(.expired, token: [1], target: 0)
        #expect(scene.owner.outcomeCount == 2)
    }
}
