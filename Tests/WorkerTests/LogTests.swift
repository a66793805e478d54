import Encoding
import Synchronization
import Testing
import Worker

@Suite struct LogTests {
    /// What a log wrote.
    private final class Lines: Sendable {
        private let text = Mutex("")

        var value: String { text.withLock { $0 } }

        func add(_ bytes: [UInt8]) {
            text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }
    }

    private func log(_ level: Log.Level, _ format: Log.Format, _ lines: Lines) -> Log {
        Log(level: level, format: format, now: { 1_796_032_800_123 }, write: { lines.add($0) })
    }

    @Test("A line of text has time, level, message and fields")
    func text() {
        let lines = Lines()
        log(.info, .text, lines).info(
            "subscribed",
            [
                "patterns": 2, "channel": Array("ch 1".utf8), "wait_ms": Duration.milliseconds(1500), "ready": true,
                "empty": "",
            ]
        )
        #expect(
            lines.value
                == "2026-11-30T10:00:00.123Z info subscribed patterns=2 channel=\"ch 1\" wait_ms=1500 ready=true empty=\"\"\n"
        )
    }

    @Test("A line of JSON is one JSON object")
    func json() throws {
        let lines = Lines()
        log(.info, .json, lines).error("it \"broke\"", ["error": "a \"b\" \\ \n c", "count": Int64(7)])
        let document = try JSONDocument(Array(lines.value.utf8.dropLast()))
        #expect(document.root["time"]?.string == "2026-11-30T10:00:00.123Z")
        #expect(document.root["level"]?.string == "error")
        #expect(document.root["message"]?.string == "it \"broke\"")
        #expect(document.root["error"]?.string == #"a "b" \ \u{A} c"#)
        #expect(document.root["count"]?.integer == 7)
        #expect(lines.value.filter(\.isNewline).count == 1)
    }

    @Test("What comes from outside stays on its line and is cut")
    func escapes() {
        let lines = Lines()
        log(.info, .text, lines).warning("odd", ["channel": "a\n\u{1B}[31m" + String(repeating: "x", count: 1000)])
        #expect(lines.value.contains(#"channel=a\u{A}\u{1B}[31mxxx"#))
        #expect(lines.value.utf8.count < 330)
    }

    @Test("Below the level nothing is written, and no field is made", arguments: Log.Level.allCases)
    func levels(level: Log.Level) {
        let lines = Lines()
        let log = log(level, .text, lines)
        let made = Atomic(0)
        func field() -> Int { made.add(1, ordering: .relaxed).newValue }
        log.debug("a", ["n": field()])
        log.info("a", ["n": field()])
        log.warning("a", ["n": field()])
        log.error("a", ["n": field()])
        let expected = Log.Level.allCases.count { $0 >= level }
        #expect(made.load(ordering: .relaxed) == expected)
        #expect(lines.value.filter(\.isNewline).count == expected)
    }

    @Test(
        "A device token is shortened",
        arguments: [
            ("00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0", "00fc13ad…e8f0"),
            ("short", "shor…"), ("", "…"), ("0123456789abcdef", "0123…"), ("0123456789abcdef0", "01234567…def0"),
        ]
    )
    func tokens(token: String, shown: String) {
        #expect(ShortenedToken(token).description == shown)
    }

    @Test(
        "Times are written as in RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_032_800_123, "2026-11-30T10:00:00.123Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    )
    func times(milliseconds: Int64, text: String) {
        #expect(Timestamp.text(unixMilliseconds: milliseconds) == text)
    }
}
