import Testing
import Transport

@testable import Redis

@Suite("Making commands")
struct RedisCommandTests {
    @Test("A command has the bytes of the protocol")
    func golden() {
        var command = RedisCommand("SSCAN")
        command.append(Array("push:{ch1}:fcm".utf8))
        command.append("0")
        command.append("COUNT")
        command.append(500)
        let expected = "*5\r\n$5\r\nSSCAN\r\n$14\r\npush:{ch1}:fcm\r\n$1\r\n0\r\n$5\r\nCOUNT\r\n$3\r\n500\r\n"
        #expect(command.request == Array(expected.utf8))
    }

    @Test("Any bytes may be an argument, also none and those of a span")
    func binary() {
        var command = RedisCommand("PUBLISH")
        command.append([UInt8]())
        command.append([0, 13, 10, 255] as [UInt8])
        ([1, 2] as [UInt8]).withRawSpan { command.append($0) }
        #expect(
            command.request == Array("*4\r\n$7\r\nPUBLISH\r\n$0\r\n\r\n$4\r\n".utf8)
                + [0, 13, 10, 255, 13, 10, 0x24, 0x32, 13, 10, 1, 2, 13, 10]
        )
    }

    @Test("The number of words may have several digits", arguments: [1, 9, 10, 99, 100, 1234, 100_000])
    func manyWords(count: Int) {
        var command = RedisCommand("SADD")
        for _ in 1..<count { command.append("x") }
        let request = command.request
        let head = Array("*\(count)\r\n$4\r\nSADD\r\n".utf8)
        #expect(Array(request.prefix(head.count)) == head)
        #expect(request.count == head.count + (count - 1) * 7)
    }

    @Test("A command reads back as what it was made of")
    func roundTrip() {
        let words: [any RedisArgument] = [
            "k", [0, 1] as [UInt8], 7, Int64.min, "\u{1F600}", String(repeating: "z", count: 70_000),
        ]
        let command = RedisCommand("EVAL", words)
        var values: [RESPValue] = []
        let error = RESPDecoder().decode(command.request) {
            values.append($0)
            return true
        }
        #expect(error == nil)
        #expect(values.first?.elements?.count == 7)
        #expect(values.first?[4]?.integer == .min)
        #expect(values.first?[6]?.bytes?.count == 70_000)
    }

    @Test(
        "A script has the name that Redis gives it",
        arguments: [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
            ),
            (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ]
    )
    func digest(script: (source: String, digest: String)) {
        #expect(RedisScript(script.source).digest == script.digest)
    }

    @Test("Delays double up to the limit, and half of each is chance")
    func backoff() {
        var backoff = Backoff(first: .milliseconds(100), limit: .milliseconds(500))
        #expect(backoff.next(random: 0) == .milliseconds(50))
        #expect(backoff.next(random: 1) == .milliseconds(200))
        #expect(backoff.next(random: 0.5) == .milliseconds(300))
        #expect(backoff.next(random: 0) == .milliseconds(250))
        #expect(backoff.next(random: 7) == .milliseconds(500))
        backoff.reset()
        #expect(backoff.next(random: -3) == .milliseconds(50))
    }
}
