/// Makes text from outside harmless on a terminal and in a line of a log.
///
/// Control characters, DEL, C1, line and paragraph separators and bidirectional embeddings, overrides and isolates
/// become `\u{…}`, so that one line stays one line and reads as it was written.
package enum Printable {
    /// The longest that one value may be, in bytes of its escaped form.
    package static let maximumValueBytes = 256

    private static let ellipsis = "…"

    /// One value: escaped, and cut at ``maximumValueBytes`` with an ellipsis inside of that.
    package static func value(_ text: String) -> String {
        if text.utf8.count <= maximumValueBytes, isPlain(text) { return text }
        return cut(text)
    }

    /// One value in bytes; what is not UTF-8 shows as U+FFFD.
    package static func value(_ bytes: some Collection<UInt8>) -> String {
        // A value is cut anyway: no more is decoded than can be shown, and one character that tells that there is more.
        value(String(decoding: bytes.prefix(maximumValueBytes + 4), as: UTF8.self))
    }

    /// A whole line, whose values have been cut already: escaped only.
    package static func escaped(_ text: String) -> String {
        if isPlain(text) { return text }
        return text.unicodeScalars.reduce(into: "") { $0 += form(of: $1) }
    }

    /// Nothing to escape, seen without decoding: printable ASCII only.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    private static func cut(_ text: String) -> String {
        var whole = ""
        var fitting = ""
        for scalar in text.unicodeScalars {
            whole += form(of: scalar)
            if whole.utf8.count <= maximumValueBytes - ellipsis.utf8.count { fitting = whole }
            if whole.utf8.count > maximumValueBytes { return fitting + ellipsis }
        }
        return whole
    }

    private static func form(of scalar: Unicode.Scalar) -> String {
        isHarmful(scalar) ? "\\u{\(String(scalar.value, radix: 16, uppercase: true))}" : String(Character(scalar))
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F: true
        case 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
