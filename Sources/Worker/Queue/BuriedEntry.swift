/// An entry that its workers died with, on its way out of the queue.
package struct BuriedEntry {
    /// Why it is one, in the field `reason`.
    static let reason = "WorkerDied"

    package let kind: EntryStream.Kind
    package let entryID: [UInt8]
    /// The entry id of its message in the inbox.
    package let messageID: [UInt8]
    package let deliveries: Int
    /// Unix milliseconds of Redis' clock.
    package let time: Int64
    package let message: QueuedMessage
    /// What is left to do of a part.
    package let part: MessagePart?

    /// Fields and values, as they stand in the stream of dead letters.
    package var fields: [[UInt8]] {
        let words = [
            ("stream", kind.rawValue), ("entry", String(decoding: entryID, as: UTF8.self)),
            ("deliveries", "\(deliveries)"), ("reason", Self.reason), ("time", "\(time)"),
            ("received", "\(message.received)"), ("id", message.id),
        ]
        var fields = words.flatMap { [Array($0.0.utf8), Array($0.1.utf8)] }
        fields += [Array("channel".utf8), message.channel, Array("message".utf8), message.message]
        if let part = part ?? message.part {
            fields += [Array("target".utf8), Array("\(part.target)".utf8), Array("tokens".utf8), part.tokens.bytes]
        }
        return fields
    }
}
