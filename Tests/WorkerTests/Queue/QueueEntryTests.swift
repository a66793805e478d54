import Redis
import Testing

@testable import Worker

@Suite("Queue entries")
struct QueueEntryTests {
    private func entry(_ id: String, _ fields: [(String, String)]) -> RESPValue {
        .array([
            .bulk(Array(id.utf8)), .array(fields.flatMap { [.bulk(Array($0.0.utf8)), .bulk(Array($0.1.utf8))] }),
        ])
    }

    @Test("An entry without id and received takes both from the stream id")
    func plain() {
        let found = QueueEntry(entry("1764500000000-3", [("channel", "c"), ("message", "{}")]))
        let expected = QueuedMessage(
            entryID: Array("1764500000000-3".utf8),
            id: "1764500000000-3",
            channel: [0x63],
            message: [0x7B, 0x7D],
            received: 1_764_500_000_000
        )
        #expect(found == .message(expected))
    }

    @Test("The fields id and received are taken over, in any order; other fields are ignored")
    func withFields() {
        let fields = [("received", "5000"), ("x", "y"), ("message", "m"), ("id", "1764400000000-0"), ("channel", "c")]
        guard case .message(let message) = QueueEntry(entry("1764500000000-0", fields)) else {
            Issue.record("not taken as a message")
            return
        }
        #expect(message.id == "1764400000000-0")
        #expect(message.received == 5000)
    }

    @Test(
        "A useless id or received falls back",
        arguments: [
            ("id", ""), ("id", "a b"), ("id", String(repeating: "x", count: 65)), ("received", "-1"), ("received", "x"),
        ]
    )
    func fallsBack(name: String, value: String) {
        let found = QueueEntry(entry("1764500000000-0", [("channel", "c"), ("message", "m"), (name, value)]))
        guard case .message(let message) = found else {
            Issue.record("not taken as a message")
            return
        }
        #expect(message.id == "1764500000000-0")
        #expect(message.received == 1_764_500_000_000)
    }

    @Test("An entry without channel or message is malformed and keeps its id")
    func malformed() {
        guard case .malformed(let id, let reason) = QueueEntry(entry("1-0", [("channel", "c")])) else {
            Issue.record("not malformed")
            return
        }
        #expect(id == Array("1-0".utf8))
        #expect(reason.contains("message"))
    }

    @Test("An entry that was deleted is malformed; what is no entry is none")
    func broken() {
        #expect(QueueEntry(.array([.bulk(Array("1-0".utf8)), .null])) != nil)
        #expect(QueueEntry(.null) == nil)
        #expect(QueueEntry(.array([.bulk([1])])) == nil)
        #expect(QueueEntry(.integer(3)) == nil)
    }
}
