import Encoding
import Testing

@Suite struct PrintableTests {
    @Test(
        "What could change a line or its reading is escaped",
        arguments: [
            ("plain text, 100 %", "plain text, 100 %"),
            ("", ""),
            ("a\nb\r\tc\u{0}", #"a\u{A}b\u{D}\u{9}c\u{0}"#),
            ("\u{1B}[31mred\u{7F}", #"\u{1B}[31mred\u{7F}"#),
            ("\u{80}\u{85}\u{9F}\u{A0}", "\\u{80}\\u{85}\\u{9F}\u{A0}"),
            ("\u{202A}\u{202E}\u{2066}\u{2069}", #"\u{202A}\u{202E}\u{2066}\u{2069}"#),
            ("\u{2028}\u{2029}", #"\u{2028}\u{2029}"#),
            ("Grüße 👋🏽 שלום", "Grüße 👋🏽 שלום"),
            ("e\u{301}", "e\u{301}"),
        ]
    )
    func escapes(text: String, shown: String) {
        #expect(Printable.value(text) == shown)
        #expect(Printable.escaped(text) == shown)
        #expect(Printable.value(Array(text.utf8)) == shown)
    }

    @Test("A value has at most 256 bytes, a line any number")
    func cuts() {
        let exact = String(repeating: "a", count: 256)
        #expect(Printable.value(exact) == exact)
        #expect(Printable.value(exact + "a") == String(repeating: "a", count: 253) + "…")
        #expect(Printable.escaped(exact + exact) == exact + exact)
        #expect(Printable.value(Array((exact + "a").utf8)) == String(repeating: "a", count: 253) + "…")
    }

    @Test(
        "The cut is between characters and never inside an escape",
        arguments: ["ü", "👋", "\u{0}", "\u{202E}", "a\nü"]
    )
    func cutsBetweenCharacters(piece: String) {
        let shown = Printable.value(String(repeating: piece, count: 300))
        #expect(shown.utf8.count <= 256)
        #expect(shown.utf8.count > 240)
        #expect(shown.hasSuffix("…"))
        #expect(!shown.contains("\u{FFFD}"))
        #expect(shown.filter { $0 == "{" }.count == shown.filter { $0 == "}" }.count)
        let bytes = Printable.value(Array(String(repeating: piece, count: 300).utf8))
        #expect(bytes == shown)
    }

    @Test("Bytes that are not UTF-8 show as the replacement character")
    func replaces() {
        #expect(Printable.value([0x61, 0xFF, 0x62]) == "a\u{FFFD}b")
    }
}
