package import Redis

/// One entry of the inbox: a message that waits for its pushes.
package struct QueuedMessage: Sendable, Equatable {
    /// The entry's id in the stream, by which it is acknowledged.
    package let entryID: [UInt8]
    /// The message's id in traces and in `apns-id`: the field `id`, or else the entry's id.
    package let id: String
    /// The pub/sub channel of the message.
    package let channel: [UInt8]
    /// The published bytes.
    package let message: [UInt8]
    /// When the message was received, in unix milliseconds of Redis' clock: the field `received`, or else from the id.
    package let received: Int64
    /// Set when the entry is only a part of a message: a dead letter that was put back.
    package let part: MessagePart?

    package init(
        entryID: [UInt8],
        id: String,
        channel: [UInt8],
        message: [UInt8],
        received: Int64,
        part: MessagePart? = nil
    ) {
        self.entryID = entryID
        self.id = id
        self.channel = channel
        self.message = message
        self.received = received
        self.part = part
    }
}

/// Some devices of one target of a message.
package struct MessagePart: Sendable, Equatable {
    /// The target's number in the message's plan.
    package let target: Int
    package let tokens: BatchTokens

    package init(target: Int, tokens: BatchTokens) {
        self.target = target
        self.tokens = tokens
    }

    /// From the fields of an entry; nil when one is missing or is no number.
    init?(_ fields: EntryFields) {
        guard let tokens = fields.tokens, let digits = fields.target,
            let target = Int(String(decoding: digits, as: UTF8.self)), target >= 0
        else { return nil }
        self.init(target: target, tokens: BatchTokens(bytes: tokens))
    }
}

/// One entry of the batches stream: a part of a message that waits for its pushes.
package struct QueuedBatch: Sendable, Equatable {
    /// The entry's id in its stream, by which it is acknowledged.
    package let entryID: [UInt8]
    /// The entry id of its message in the inbox.
    package let messageID: [UInt8]
    package let part: MessagePart

    package init(entryID: [UInt8], messageID: [UInt8], part: MessagePart) {
        self.entryID = entryID
        self.messageID = messageID
        self.part = part
    }

    /// Reads `[id, [field, value, …]]`; nil when it is no batch.
    package init?(_ value: RESPValue) {
        guard let entryID = value[0]?.bytes, let fields = EntryFields(value), let messageID = fields.message,
            let part = MessagePart(fields)
        else { return nil }
        self.init(entryID: entryID, messageID: messageID, part: part)
    }
}

/// The fields of a stream entry that mean something here; of a field that comes twice the last counts.
struct EntryFields {
    private(set) var channel: [UInt8]?
    private(set) var message: [UInt8]?
    private(set) var received: [UInt8]?
    private(set) var id: [UInt8]?
    private(set) var target: [UInt8]?
    private(set) var tokens: [UInt8]?

    /// From `[id, [field, value, …]]`; nil when the entry was deleted.
    init?(_ value: RESPValue) {
        guard case .array(let parts) = value, parts.count == 2, case .array(let fields) = parts[1] else { return nil }
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            guard case .bulk(let name) = fields[index], case .bulk(let content) = fields[index + 1] else { continue }
            switch String(decoding: name, as: UTF8.self) {
            case "channel": channel = content
            case "message": message = content
            case "received": received = content
            case "id": id = content
            case "target": target = content
            case "tokens": tokens = content
            default: break
            }
        }
    }
}

/// What one element of an XREADGROUP or XAUTOCLAIM answer is.
package enum QueueEntry: Equatable, Sendable {
    case message(QueuedMessage)
    /// An entry that cannot be served: it has an id, but not what a message needs.
    case malformed(entryID: [UInt8], reason: String)

    /// The longest `id` that is taken over from an entry; a longer one is no id of ours.
    private static let maximumIDBytes = 64

    /// Reads `[id, [field, value, …]]`; nil when it is not of this form at all.
    package init?(_ value: RESPValue) {
        guard case .array(let parts) = value, parts.count == 2, case .bulk(let entryID) = parts[0] else { return nil }
        guard let fields = EntryFields(value) else {
            self = .malformed(entryID: entryID, reason: "the entry was deleted before it was read")
            return
        }
        let channel = fields.channel
        guard let channel, let message = fields.message else {
            self = .malformed(
                entryID: entryID,
                reason: "the entry lacks the field \(channel == nil ? "channel" : "message")"
            )
            return
        }
        let entryText = String(decoding: entryID, as: UTF8.self)
        let messageID = fields.id.flatMap(Self.messageID) ?? entryText
        let received = fields.received.flatMap(Self.milliseconds)
        self = .message(
            QueuedMessage(
                entryID: entryID,
                id: messageID,
                channel: channel,
                message: message,
                received: received ?? Self.timestamp(messageID) ?? Self.timestamp(entryText) ?? 0,
                part: MessagePart(fields)
            )
        )
    }

    /// The milliseconds of a stream id `<ms>-<n>` (Redis: Streams, entry ids).
    private static func timestamp(_ id: String) -> Int64? {
        let parts = id.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(parts[1]) != nil else { return nil }
        return milliseconds(Array(parts[0].utf8))
    }

    private static func milliseconds(_ digits: [UInt8]) -> Int64? {
        guard let value = Int64(String(decoding: digits, as: UTF8.self)), value > 0 else { return nil }
        return value
    }

    private static func messageID(_ bytes: [UInt8]) -> String? {
        guard !bytes.isEmpty, bytes.count <= maximumIDBytes, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
