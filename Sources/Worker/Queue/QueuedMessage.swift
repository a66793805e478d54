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

    package init(entryID: [UInt8], id: String, channel: [UInt8], message: [UInt8], received: Int64) {
        self.entryID = entryID
        self.id = id
        self.channel = channel
        self.message = message
        self.received = received
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
        guard case .array(let fields) = parts[1] else {
            self = .malformed(entryID: entryID, reason: "the entry was deleted before it was read")
            return
        }
        var channel: [UInt8]?
        var message: [UInt8]?
        var received: Int64?
        var id: String?
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            guard case .bulk(let name) = fields[index], case .bulk(let content) = fields[index + 1] else { continue }
            switch String(decoding: name, as: UTF8.self) {
            case "channel": channel = content
            case "message": message = content
            case "received": received = Self.milliseconds(content)
            case "id": id = Self.messageID(content)
            default: break
            }
        }
        guard let channel, let message else {
            self = .malformed(
                entryID: entryID,
                reason: "the entry lacks the field \(channel == nil ? "channel" : "message")"
            )
            return
        }
        let messageID = id ?? String(decoding: entryID, as: UTF8.self)
        self = .message(
            QueuedMessage(
                entryID: entryID,
                id: messageID,
                channel: channel,
                message: message,
                received: received ?? Self.timestamp(messageID) ?? Self.timestamp(
                    String(decoding: entryID, as: UTF8.self)
                ) ?? 0
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
