import Redis
import Testing

@testable import Worker

@Suite("Entries that are put aside")
struct BuriedEntryTests {
    private func letter(_ kind: EntryStream.Kind, part: MessagePart?, replayed: MessagePart? = nil) -> BuriedEntry {
        let message = QueuedMessage(
            entryID: Array("5-0".utf8),
            id: "1-7",
            channel: Array("shop".utf8),
            message: Array(#"{"pn_fcm":{}}"#.utf8),
            received: 1234,
            part: replayed
        )
        return BuriedEntry(
            kind: kind,
            entryID: Array("9-1".utf8),
            messageID: message.entryID,
            deliveries: 3,
            time: 99,
            message: message,
            part: part
        )
    }

    private func entry(_ fields: [[UInt8]]) -> RESPValue {
        .array([.bulk(Array("77-0".utf8)), .array(fields.map { .bulk($0) })])
    }

    @Test("The commands read what the worker writes")
    func letter() throws {
        let letter = try #require(DeadLetter(entry(letter(.messages, part: nil).fields)))
        #expect(letter.stream == "messages")
        #expect(letter.entry == "9-1")
        #expect(letter.deliveries == 3)
        #expect(letter.reason == "WorkerDied")
        #expect(letter.time == 99)
        #expect(letter.messageID == "1-7")
        #expect(letter.channel == Array("shop".utf8))
        #expect(letter.target == nil)
    }

    @Test("Of a part, and of a part that was put back before, its devices are kept")
    func part() throws {
        var tokens = BatchTokens(tracesEachDevice: true)
        tokens.append(BatchTokens.Device(member: Array("ab".utf8)))
        let part = MessagePart(target: 2, tokens: tokens)
        for letter in [letter(.batches, part: part), letter(.messages, part: nil, replayed: part)] {
            // The fields that a replay takes over make the same part again.
            guard case .message(let message)? = QueueEntry(entry(letter.fields)) else {
                Issue.record("it is no message")
                continue
            }
            #expect(message.part == part)
            #expect(message.id == "1-7")
            #expect(message.received == 1234)
        }
    }
}
