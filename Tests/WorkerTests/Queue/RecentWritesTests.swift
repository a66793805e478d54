import TestSupport
import Testing
import Transport

@testable import Worker

@Suite("What Redis may have lost is written again", .timeLimit(.minutes(1)))
struct RecentWritesTests {
    /// Notes numbers when they are written again.
    private final class Paper {
        var lines: [Int] = []
    }

    @Test("To another server everything goes again, in its order, and once more to a third; to the same one nothing")
    func again() async throws {
        let lines = try await withLoop { loop in
            try await loop.run {
                let recent = RecentWrites(loop: loop)
                defer { recent.close() }
                let paper = Paper()
                recent.connected(to: "a")
                for number in 0..<3 { recent.note { paper.lines.append(number) } }
                recent.connectionLost()
                recent.connected(to: "a")
                paper.lines.append(-1)
                for server in ["b", "c"] {
                    recent.connectionLost()
                    recent.connected(to: server)
                    paper.lines.append(-1)
                }
                return paper.lines
            }
        }
        #expect(lines == [-1, 0, 1, 2, -1, 0, 1, 2, -1])
    }

    @Test("What is old enough to be on disk is forgotten, but not while nobody knows the server")
    func forgets() async throws {
        try await withLoop { loop in
            let recent = try await loop.run {
                let recent = RecentWrites(loop: loop)
                recent.connected(to: "a")
                recent.note {}
                recent.connectionLost()
                return LoopConfined(recent, on: loop)
            }
            try await loop.run {
                // As if the lifetime had passed: no timer is left that could forget it.
                #expect(recent.value.count == 1)
                recent.value.connected(to: "a")
            }
            try await loop.wait(for: "it is forgotten") { recent.value.count == 0 }
        }
    }
}
