import Testing
import Transport

@testable import Redis

/// What a subscribed connection told.
enum Heard: Equatable {
    case message(payload: [UInt8], channel: [UInt8], pattern: [UInt8]?)
    case other(RESPValue)
}

/// Decodes pieces, one after the other.
func messages(_ pieces: [[UInt8]], wanted: Int = .max) -> (heard: [Heard], error: RedisError?) {
    let decoder = MessageDecoder()
    var heard: [Heard] = []
    for piece in pieces {
        let error = piece.withRawSpan { bytes in
            decoder.decode(bytes) { payload, channel, pattern in
                let patternBytes: [UInt8]? = if let pattern { pattern.copiedBytes } else { nil }
                heard.append(
                    .message(payload: payload.copiedBytes, channel: channel.copiedBytes, pattern: patternBytes)
                )
                return heard.count < wanted
            } other: {
                heard.append(.other($0))
                return true
            }
        }
        if let error { return (heard, error) }
    }
    return (heard, nil)
}

@Suite("Reading messages")
struct MessageDecoderTests {
    static let stream =
        frame("psubscribe", "*", 1) + frame("subscribe", "c", 2) + frame("pmessage", "*", "ch", "hello")
        + frame("message", "c", "") + bytes(of: ["pong", ""]) + Array("+PONG\r\n".utf8)
        + frame("pmessage", "a*", "a\u{0} {b}\u{1F600}", String(repeating: "x", count: 10_000))
        + Array("*2\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n:3\r\n".utf8)
        + frame("message", "c", "last")

    static let expected: [Heard] = [
        .other(.array([.bulk(Array("psubscribe".utf8)), .bulk([0x2A]), .integer(1)])),
        .other(.array([.bulk(Array("subscribe".utf8)), .bulk([0x63]), .integer(2)])),
        .message(payload: Array("hello".utf8), channel: Array("ch".utf8), pattern: [0x2A]),
        .message(payload: [], channel: [0x63], pattern: nil),
        .other(.array([.bulk(Array("pong".utf8)), .bulk([])])),
        .other(.simple("PONG")),
        .message(
            payload: [UInt8](repeating: 0x78, count: 10_000),
            channel: Array("a\u{0} {b}\u{1F600}".utf8),
            pattern: [0x61, 0x2A]
        ),
        .other(.array([.array([.bulk(Array("message".utf8)), .bulk([0x61]), .bulk([0x62])]), .integer(3)])),
        .message(payload: Array("last".utf8), channel: [0x63], pattern: nil),
    ]

    @Test("Messages are told apart from everything else")
    func whole() {
        let result = messages([Self.stream])
        #expect(result.heard == Self.expected)
        #expect(result.error == nil)
    }

    @Test("Messages may be split anywhere", arguments: [1, 2, 3, 5, 7, 11, 64, 1000, 4095, 4096, 4097])
    func split(size: Int) {
        let pieces = stride(from: 0, to: Self.stream.count, by: size).map {
            Array(Self.stream[$0..<min($0 + size, Self.stream.count)])
        }
        #expect(messages(pieces).heard == Self.expected)
    }

    @Test("Many messages in one read keep their bytes, whatever their length", arguments: [1, 10, 290, 3000, 5000])
    func many(length: Int) {
        let one = Self.frame("pmessage", "*", "ch", String(repeating: "y", count: length))
        let result = messages([Array(repeating: one, count: 300).flatMap(\.self)])
        let message = Heard.message(
            payload: [UInt8](repeating: 0x79, count: length),
            channel: Array("ch".utf8),
            pattern: [0x2A]
        )
        #expect(result.heard == Array(repeating: message, count: 300))
    }

    @Test("The body may end the reading at a message")
    func ends() {
        let result = messages([Self.frame("message", "c", "1") + Self.frame("message", "c", "2")], wanted: 1)
        #expect(result.heard == [.message(payload: [0x31], channel: [0x63], pattern: nil)])
        #expect(result.error == nil)
    }

    @Test("A message with something other than strings is an error", arguments: [":1\r\n", "*1\r\n:1\r\n", "$-1\r\n"])
    func broken(piece: String) {
        let result = messages([Array("*3\r\n$7\r\nmessage\r\n\(piece)$1\r\na\r\n".utf8)])
        #expect(result.error == .invalidReply("a message that is not made of strings"))
    }

    static func frame(_ words: String...) -> [UInt8] {
        bytes(of: words)
    }

    static func frame(_ kind: String, _ name: String, _ count: Int) -> [UInt8] {
        Array("*3\r\n$\(kind.utf8.count)\r\n\(kind)\r\n$\(name.utf8.count)\r\n\(name)\r\n:\(count)\r\n".utf8)
    }

    static func bytes(of words: [String]) -> [UInt8] {
        Array("*\(words.count)\r\n".utf8) + words.flatMap { Array("$\($0.utf8.count)\r\n\($0)\r\n".utf8) }
    }
}
