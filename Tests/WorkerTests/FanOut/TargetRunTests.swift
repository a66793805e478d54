import Testing

@testable import Worker

@Suite("One target of an entry, from its devices to their outcomes")
struct TargetRunTests {
    @Test("One that ends before its fan-out finishes its message, also with members in its set that are no tokens")
    func finishesWithUnusableMembers() {
        for ending in [TargetEnding.expired, .failed(reason: "NoCredential", text: "none")] {
            let scene = RunScene()
            let run = scene.target(ending: ending)
            #expect(run.take(page: [Array("ab01".utf8), Array("zz".utf8)], isLast: true).isEmpty)
            #expect(scene.owner.finishedCount == 1)
            #expect(run.tally.expected == 2)
            #expect(run.tally.errored + run.tally.expired == 2)
        }
    }

    @Test("A small one gives its pushes at the end of the walk, and finishes with the last outcome")
    func direct() {
        let scene = RunScene()
        let run = scene.target()
        #expect(run.take(page: RunScene.tokens(0..<2), isLast: false).isEmpty)
        let pushes = run.take(page: RunScene.tokens(1..<3), isLast: true)
        #expect(pushes.map(\.token) == RunScene.tokens(0..<3))
        for (push, outcome) in zip(pushes, [Outcome.sent, .removed, .errored]) {
            #expect(scene.owner.finishedCount == 0)
            run.finish(outcome, token: push.token)
        }
        #expect(scene.owner.finishedCount == 1)
        #expect(scene.run.shares.isEmpty)
        #expect(run.tally == Tally(expected: 3, sent: 1, removed: 1, errored: 1))
    }

    @Test("What another worker has done is counted and not repeated, and what it let wait is not counted here")
    func stored() {
        let tokens = RunScene.tokens(0..<4)
        let records = [StoredOutcome.sent, .expired, .delayed].enumerated().map { index, outcome in
            outcome.record(token: tokens[index], target: 0)
        }
        let scene = RunScene(stored: records)
        let run = scene.target(hasParts: true)
        #expect(run.take(page: tokens, isLast: true).map(\.token) == [tokens[3]])
        run.finish(.sent, token: tokens[3])
        #expect(scene.owner.finishedCount == 1)
        #expect(scene.run.shares == [run.share])
        #expect([run.tally.expected, run.tally.sent, run.tally.expired, run.tally.delayed] == [4, 2, 1, 1])
    }

    @Test("Pushes that wait leave the entry, which then has a part")
    func delayed() {
        let scene = RunScene()
        let run = scene.target()
        #expect(run.take(page: RunScene.tokens(0..<3), isLast: true).count == 3)
        run.finish(.sent, token: RunScene.tokens(0..<1)[0])
        run.delayed(2)
        #expect(scene.owner.finishedCount == 1)
        #expect(scene.run.hasStored)
        #expect(scene.run.shares.map(\.isWalked) == [false])
        #expect(run.tally.unfinished == 0)
    }

    @Test("The pages of a big one carry each device and each hash once, and where the walk was and is")
    func pages() {
        let scene = RunScene()
        let run = scene.target()
        _ = run.take(page: RunScene.tokens(0..<1500) + [Array("zz".utf8)], isLast: false)
        #expect(run.isLarge)
        let middle = RunState.Walk.at(cursor: "7", server: "s")
        let first = run.takePage(from: .none, to: middle)
        run.collect(RunScene.tokens(1400..<1600))
        let second = run.takePage(from: middle, to: .done)
        #expect(first.tokens?.devices?.map(\.member) == RunScene.tokens(0..<1500))
        #expect(second.tokens?.devices?.map(\.member) == RunScene.tokens(1500..<1600))
        #expect(first.hashes.count == 1501 * 8)
        #expect(second.hashes.count == 100 * 8)
        #expect([first.tally.expected, second.tally.expected, second.unusable] == [1501, 1601, 1])
        #expect(second.previous == first.walk)
        run.walkBecameParts()
        #expect(scene.owner.finishedCount == 1)
        #expect(scene.run.shares == [run.share])
        #expect(run.share.isWalked)
        #expect([run.tally.errored, run.tally.delayed] == [1, 1600])
    }

    @Test("A walk that another worker began goes on behind what it has met")
    func resumed() {
        let scene = RunScene()
        let run = scene.target(hasParts: true)
        var met = Recipients(kind: run.target.registrationKind, exclusions: [])
        for token in RunScene.tokens(0..<600) { _ = met.decide(token) }
        run.restart(Tally(expected: 600, excluded: 3, errored: 2), met: met.takeMet())
        run.collect(RunScene.tokens(500..<700))
        let page = run.takePage(from: .none, to: .done)
        #expect(page.tokens?.devices?.map(\.member) == RunScene.tokens(600..<700))
        #expect(page.tally.expected == 700)
        #expect(page.unusable == 2)
        run.walkBecameParts()
        #expect(scene.owner.finishedCount == 1)
    }

    @Test("A walk that another worker began finishes also when its time is over", arguments: [0, 3])
    func resumedTooLate(left: Int) {
        let scene = RunScene()
        let run = scene.target(ending: .expired, hasParts: true)
        run.restart(Tally(expected: 600))
        run.collect(RunScene.tokens(0..<left))
        #expect(run.takePage(from: .none, to: .done).tokens == nil)
        run.walkBecameParts()
        #expect(scene.owner.finishedCount == 1)
        #expect([run.tally.expected, run.tally.expired, run.tally.delayed] == [600 + left, left, 600])
    }

    @Test("When all pages were parts already, nothing is walked")
    func resumedAfterWalk() {
        let scene = RunScene()
        let run = scene.target(hasParts: true)
        run.resumeAfterWalk(Tally(expected: 5000, errored: 4))
        #expect(scene.owner.finishedCount == 1)
        #expect(run.share.isWalked)
    }

    @Test("A part gives what is left of its devices, and says how many had waited", arguments: [false, true])
    func part(isRetry: Bool) {
        let tokens = RunScene.tokens(0..<3)
        let scene = RunScene(.batches, stored: [StoredOutcome.sent.record(token: tokens[0], target: 0)])
        let run = scene.target(hasParts: true)
        let pushes = run.take(part: RunScene.part(0..<3, isRetry: isRetry))
        #expect(pushes.map(\.token) == [tokens[1], tokens[2]])
        for push in pushes { run.finish(.sent, token: push.token) }
        #expect(scene.run.shares.map(\.retriedDevices) == [isRetry ? 3 : 0])
        #expect(scene.run.shares.map(\.tally.sent) == [3])
    }

    @Test("An entry is finished with the last of its targets, told once, and holds none of them")
    func holdsNoTarget() {
        let scene = RunScene(targets: 2)
        weak var forgotten: TargetRun?
        do {
            let run = scene.target(0, hasParts: true)
            forgotten = run
            _ = run.take(page: [], isLast: true)
        }
        #expect(forgotten == nil)
        #expect(scene.owner.finishedCount == 0)
        _ = scene.target(1).take(page: [], isLast: true)
        #expect(scene.owner.finishedCount == 1)
        #expect(scene.run.shares.map(\.number) == [0])
    }

    @Test("An entry that was lost tells nothing more")
    func abandoned() {
        let scene = RunScene()
        let run = scene.target()
        let pushes = run.take(page: RunScene.tokens(0..<1), isLast: true)
        scene.run.abandon()
        run.finish(.sent, token: pushes[0].token)
        #expect(scene.owner.finishedCount == 0)
        #expect(scene.run.takeFresh() == nil)
    }
}
