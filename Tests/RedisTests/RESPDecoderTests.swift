import Testing
import Transport

@testable import Redis

@Suite("Reading replies")
struct RESPDecoderTests {
    static let replies: [(String, RESPValue)] = [
        ("+OK\r\n", .simple("OK")),
        ("+\r\n", .simple("")),
        ("-ERR no such thing\r\n", .error("ERR no such thing")),
        (":0\r\n", .integer(0)),
        (":-9223372036854775807\r\n", .integer(-9_223_372_036_854_775_807)),
        (":1764500000000\r\n", .integer(1_764_500_000_000)),
        ("$0\r\n\r\n", .bulk([])),
        ("$5\r\nab\r\nc\r\n", .bulk(Array("ab\r\nc".utf8))),
        ("$3\r\n\u{0}\u{1}\u{7F}\r\n", .bulk([0, 1, 0x7F])),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        ("*0\r\n", .array([])),
        ("*2\r\n*0\r\n*1\r\n$1\r\na\r\n", .array([.array([]), .array([.bulk([97])])])),
        ("*3\r\n:1\r\n$-1\r\n-WRONGTYPE x\r\n", .array([.integer(1), .null, .error("WRONGTYPE x")])),
        (
            "*2\r\n$1\r\n0\r\n*3\r\n$1\r\na\r\n$2\r\nbb\r\n$3\r\nccc\r\n",
            .array([.bulk([48]), .array([.bulk([97]), .bulk([98, 98]), .bulk([99, 99, 99])])])
        ),
    ]

    @Test("A reply is read as what it is", arguments: replies)
    func whole(reply: (bytes: String, value: RESPValue)) {
        let result = decode([Array(reply.bytes.utf8)])
        #expect(result.values == [reply.value])
        #expect(result.error == nil)
    }

    @Test("Replies may be split anywhere", arguments: 1...17)
    func split(size: Int) {
        let bytes = Self.replies.flatMap { Array($0.0.utf8) }
        let pieces = stride(from: 0, to: bytes.count, by: size).map {
            Array(bytes[$0..<min($0 + size, bytes.count)])
        }
        let result = decode(pieces)
        #expect(result.values == Self.replies.map(\.1))
        #expect(result.error == nil)
    }

    @Test("A text of a megabyte, and an array of 100,000 elements, are read whole")
    func large() {
        let text = [UInt8](repeating: 0x78, count: 1_048_576)
        let array = (0..<100_000).flatMap { Array(":\($0)\r\n".utf8) }
        let bytes = Array("$\(text.count)\r\n".utf8) + text + Array("\r\n*100000\r\n".utf8) + array
        let result = decode([bytes])
        #expect(result.values.count == 2)
        #expect(result.values.first == .bulk(text))
        #expect(result.values.last?.elements?.count == 100_000)
        #expect(result.values.last?[99_999] == .integer(99_999))
    }

    @Test(
        "What is no reply is an error and no crash",
        arguments: [
            "hello\r\n", "$-2\r\n", "*-2\r\n", "*99999999999\r\n",
            String(repeating: "*1\r\n", count: 12) + ":1\r\n", "GET / HTTP/1.1\r\n\r\n", "\u{0}\u{0}",
        ]
    )
    func broken(text: String) throws {
        let result = decode([Array(text.utf8)])
        #expect(result.values.isEmpty)
        guard case .invalidReply = try #require(result.error) else {
            Issue.record("\(String(describing: result.error))")
            return
        }
    }

    @Test("An array that promises much takes no memory in advance")
    func promise() {
        let result = decode([Array("*2147483647\r\n$1\r\na\r\n".utf8)])
        #expect(result.values.isEmpty)
        #expect(result.error == nil)
    }

    @Test("The body may end the reading")
    func ends() {
        let decoder = RESPDecoder()
        var seen: [RESPValue] = []
        let error = decoder.decode(Array(":1\r\n:2\r\n:3\r\n".utf8)) {
            seen.append($0)
            return seen.count < 2
        }
        #expect(error == nil)
        #expect(seen == [.integer(1), .integer(2)])
    }

    @Test("Damaged bytes have the same result however they are split", arguments: 0..<20)
    func damaged(round: Int) {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("*$+-:0123456789\r\n".utf8)
        let stream = Self.replies.flatMap { Array($0.0.utf8) } + MessageDecoderTests.stream.prefix(300)
        for _ in 0..<100 {
            var bytes = (0..<40).map { _ in alphabet.randomElement(using: &generator) ?? 0 }
            #expect(DecoderProperties.check(bytes) == nil, "\(bytes)")
            bytes = stream
            for _ in 0...(round % 4) {
                bytes[Int.random(in: bytes.indices)] = alphabet.randomElement(using: &generator) ?? 0
            }
            #expect(DecoderProperties.check(bytes) == nil, "\(bytes)")
        }
    }

    private func decode(_ pieces: [[UInt8]]) -> (values: [RESPValue], error: RedisError?) {
        let decoder = RESPDecoder()
        var values: [RESPValue] = []
        for piece in pieces {
            let error = decoder.decode(piece) {
                values.append($0)
                return true
            }
            if let error { return (values, error) }
        }
        return (values, nil)
    }
}

extension RESPDecoder {
    func decode(_ bytes: [UInt8], _ body: (RESPValue) -> Bool) -> RedisError? {
        bytes.withRawSpan { decode($0, body) }
    }
}
