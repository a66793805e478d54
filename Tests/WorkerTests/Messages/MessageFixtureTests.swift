import Foundation
import Testing
import Worker

/// The messages of every SDK and of the documentation, and what becomes of each, byte for byte.
@Suite struct MessageFixtureTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Fixtures/messages").standardizedFileURL

    static let names: [String] =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasSuffix(".json") }
        .map { String($0.dropLast(5)) }
        .sorted()

    @Test("There are messages of every SDK")
    func hasMessages() {
        #expect(Self.names.count >= 20)
    }

    @Test("A message leads to the targets that its golden file lists", arguments: names)
    func matchesGoldenFile(name: String) throws {
        let message = try String(contentsOf: Self.folder.appending(path: name + ".json"), encoding: .utf8)
        let text = PlanText.text(PlanText.plan(message, defaultTopic: "com.ex.default"))
        let golden = Self.folder.appending(path: name + ".plan")
        // To renew the golden files: run with PLAN_GOLDEN set, and read the difference.
        if ProcessInfo.processInfo.environment["PLAN_GOLDEN"] != nil {
            try text.write(to: golden, atomically: true, encoding: .utf8)
        }
        #expect(try text == String(contentsOf: golden, encoding: .utf8))
    }
}
