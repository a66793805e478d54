import Redis
import Transport

/// What must hold of the decoders for any bytes; used by tests and by the fuzzer.
enum DecoderProperties {
    /// Nil, or a sentence about what does not hold.
    static func check(_ bytes: [UInt8]) -> String? {
        let whole = values(of: [bytes])
        let size = Int(bytes.first ?? 0) % 23 + 1
        let pieces = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        guard values(of: pieces) == whole else { return "replies differ when the bytes are split" }
        let messages = messages(in: [bytes])
        guard messages == Self.messages(in: pieces) else { return "messages differ when the bytes are split" }
        // A message that is not made of strings ends the messages, while it is a reply like any other.
        let expected = messages.isFailed ? Array(whole.values.prefix(messages.values.count)) : whole.values
        guard messages.values == expected else { return "messages are not what the replies are" }
        return whole.isFailed && !messages.isFailed ? "an error was passed over" : nil
    }

    /// What came out of some bytes, and whether an error ended it.
    struct Outcome: Equatable {
        var values: [RESPValue] = []
        var isFailed = false
    }

    static func values(of pieces: [[UInt8]]) -> Outcome {
        let decoder = RESPDecoder()
        var outcome = Outcome()
        for piece in pieces where !outcome.isFailed {
            let error = piece.withRawSpan { bytes in
                decoder.decode(bytes) {
                    outcome.values.append($0)
                    return true
                }
            }
            outcome.isFailed = error != nil
        }
        return outcome
    }

    /// Messages as the replies that they are.
    static func messages(in pieces: [[UInt8]]) -> Outcome {
        let decoder = MessageDecoder()
        var outcome = Outcome()
        for piece in pieces where !outcome.isFailed {
            let error = piece.withRawSpan { bytes in
                decoder.decode(bytes) { payload, channel, pattern in
                    outcome.values.append(reply(payload, channel, pattern))
                    return true
                } other: {
                    outcome.values.append($0)
                    return true
                }
            }
            outcome.isFailed = error != nil
        }
        return outcome
    }

    private static func reply(_ payload: RawSpan, _ channel: RawSpan, _ pattern: RawSpan?) -> RESPValue {
        let rest: [RESPValue] = [.bulk(channel.copiedBytes), .bulk(payload.copiedBytes)]
        guard let pattern else { return .array([.bulk(Array("message".utf8))] + rest) }
        return .array([.bulk(Array("pmessage".utf8)), .bulk(pattern.copiedBytes)] + rest)
    }
}
