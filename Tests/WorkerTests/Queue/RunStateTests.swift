import Redis
import Testing

@testable import Worker

@Suite("What Redis knows of a message with parts")
struct RunStateTests {
    private func state(_ words: [String]) -> RunState {
        RunState(.array(words.map { .bulk(Array($0.utf8)) }))
    }

    @Test("The fields of each target are read")
    func reads() {
        let state = state([
            "parts", "9", "t0:parts", "4", "t0:walk", "17 abc", "t0:expected", "900", "t0:excluded", "2",
            "t0:unusable", "1", "t0:sent", "5", "t12:parts", "2", "t12:retries", "1", "t12:waiting", "700",
        ])
        #expect(state.targets.keys.sorted() == [0, 12])
        #expect(state.targets[0]?.walk == .at(cursor: "17", server: "abc"))
        #expect(state.targets[0]?.unfinished == UnfinishedParts(parts: 4))
        #expect(state.targets[0]?.tally == Tally(expected: 900, excluded: 2, errored: 1))
        #expect(state.targets[12]?.walk == RunState.Walk.none)
        #expect(state.targets[12]?.unfinished == UnfinishedParts(parts: 2, retries: 1, waiting: 700))
    }

    @Test(
        "What is not there, or no number, counts as nothing",
        arguments: [
            [], ["parts", "3"], ["t:parts", "3"], ["tx:parts", "3"], ["t1", "3"], ["t1:parts"],
        ]
    )
    func nothing(words: [String]) {
        #expect(state(words).targets.isEmpty)
        #expect(RunState(.null).targets.isEmpty)
        #expect(self.state(["t1:parts", "many"]).targets[1]?.unfinished == UnfinishedParts())
    }

    @Test("A walk is read as it is written", arguments: [RunState.Walk.none, .done, .at(cursor: "0", server: "x-1")])
    func walks(walk: RunState.Walk) {
        #expect(state(["t1:walk", walk.text]).targets[1]?.walk == walk)
    }

    @Test("Retries count by their devices, so that a few that wait for long do not hold a walk up")
    func burden() {
        #expect(UnfinishedParts(parts: 33).burden == 33)
        #expect(UnfinishedParts(parts: 41, retries: 40, waiting: 40).burden == 1)
        #expect(UnfinishedParts(parts: 41, retries: 40, waiting: 20_000).burden == 41)
    }
}
