/// Builds one JSON value by appending bytes; commas and colons come by themselves.
///
/// A value type. What is written is valid as long as arrays and objects are closed in their order and each key has one
/// value.
package struct JSONWriter: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Whether a comma stands before what comes next.
    private var needsComma = false

    package init(capacity: Int = 0) {
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// A member's name.
    package mutating func key(_ name: StaticString) {
        separate()
        unsafe Self.appendText(
            UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount).span,
            to: &bytes
        )
        endKey()
    }

    /// A member's name.
    package mutating func key(_ name: String) {
        separate()
        Self.appendText(name.utf8.span, to: &bytes)
        endKey()
    }

    /// A member's name, of bytes that should be UTF-8.
    package mutating func key(_ name: [UInt8]) {
        separate()
        Self.appendText(name.span, to: &bytes)
        endKey()
    }

    package mutating func string(_ value: String) {
        separate()
        Self.appendText(value.utf8.span, to: &bytes)
        needsComma = true
    }

    /// A text of bytes that should be UTF-8; what is not becomes U+FFFD.
    package mutating func string(_ value: [UInt8]) {
        separate()
        Self.appendText(value.span, to: &bytes)
        needsComma = true
    }

    package mutating func integer(_ value: some BinaryInteger) {
        raw(Array(String(value).utf8))
    }

    /// A number; JSON has no infinity and no "not a number": these become null.
    package mutating func number(_ value: Double) {
        raw(value.isFinite ? Array("\(value)".utf8) : Array("null".utf8))
    }

    package mutating func bool(_ value: Bool) {
        raw(Array((value ? "true" : "false").utf8))
    }

    package mutating func null() { raw(Array("null".utf8)) }

    /// A value that is JSON already.
    package mutating func raw(_ value: [UInt8]) { raw(value[...]) }

    /// A value that is JSON already.
    package mutating func raw(_ value: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: value)
        needsComma = true
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func endKey() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    /// Appends a text in quotes, with the escapes that JSON demands (RFC 8259 section 7) and no others; what is not
    /// UTF-8 becomes U+FFFD.
    package static func appendText(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        appendContent(text, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendContent(_ text: Span<UInt8>, to bytes: inout [UInt8]) {
        var index = 0
        while index < text.count {
            let byte = text[index]
            if byte >= 0x80 {
                index &+= appendCharacter(at: index, of: text, to: &bytes)
                continue
            }
            if byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
                bytes.append(byte)
            } else {
                appendEscape(byte, to: &bytes)
            }
            index &+= 1
        }
    }

    /// Appends one character beyond ASCII and gives its length.
    private static func appendCharacter(at index: Int, of text: Span<UInt8>, to bytes: inout [UInt8]) -> Int {
        func byte(_ offset: Int) -> UInt8 { index &+ offset < text.count ? text[index &+ offset] : 0 }
        let length = JSONString.sequenceLength(text[index], byte(1), byte(2), byte(3))
        guard length > 0 else {
            bytes.append(contentsOf: "\u{FFFD}".utf8)
            return 1
        }
        for offset in 0..<length { bytes.append(byte(offset)) }
        return length
    }

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        default:
            let digits = String(byte, radix: 16).utf8
            bytes.append(contentsOf: (byte < 0x10 ? "u000" : "u00").utf8)
            bytes.append(contentsOf: digits)
        }
    }
}
