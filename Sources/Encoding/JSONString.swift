import Glibc

/// Facts on the inside of JSON texts, shared by the scanner, the reader and the writer.
enum JSONString {
    static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }

    /// The length of the well-formed UTF-8 sequence beyond ASCII that these bytes begin with, or 0.
    ///
    /// Unicode 15, table 3-7. Bytes behind the end are given as 0.
    static func sequenceLength(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) -> Int {
        let isThird = third & 0xC0 == 0x80
        switch first {
        case 0xC2...0xDF:
            return second & 0xC0 == 0x80 ? 2 : 0
        case 0xE0...0xEF:
            let lowest: UInt8 = first == 0xE0 ? 0xA0 : 0x80
            let highest: UInt8 = first == 0xED ? 0x9F : 0xBF
            return second >= lowest && second <= highest && isThird ? 3 : 0
        case 0xF0...0xF4:
            let lowest: UInt8 = first == 0xF0 ? 0x90 : 0x80
            let highest: UInt8 = first == 0xF4 ? 0x8F : 0xBF
            return second >= lowest && second <= highest && isThird && fourth & 0xC0 == 0x80 ? 4 : 0
        default:
            return 0
        }
    }

    /// Whether a node is a text that says this, escapes resolved; `buffer` holds the scanned bytes.
    static func equals(_ node: JSONNode, in buffer: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        let range = node.range
        guard node.kind == .string, range.count >= 2, range.upperBound <= buffer.count else { return false }
        let length = range.count &- 2
        let first = range.lowerBound &+ 1
        if !node.hasEscapes {
            guard length == name.utf8CodeUnitCount else { return false }
            guard length > 0, let base = buffer.baseAddress else { return length == 0 }
            return unsafe memcmp(base + first, name.utf8Start, length) == 0
        }
        guard length > name.utf8CodeUnitCount else { return false }
        let said = unsafe unescaped(Array(buffer[first..<(first &+ length)])[...])
        return unsafe said.elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// What the inside of a valid text says as UTF-8; half of a surrogate pair becomes U+FFFD.
    static func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var said: [UInt8] = []
        said.reserveCapacity(content.count)
        var rest = content
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                said.append(byte)
                continue
            }
            switch letter {
            case UInt8(ascii: "b"): said.append(0x08)
            case UInt8(ascii: "f"): said.append(0x0C)
            case UInt8(ascii: "n"): said.append(0x0A)
            case UInt8(ascii: "r"): said.append(0x0D)
            case UInt8(ascii: "t"): said.append(0x09)
            case UInt8(ascii: "u"): said.append(contentsOf: Array(String(scalar(&rest)).utf8))
            default: said.append(letter)
            }
        }
        return said
    }

    /// The character of one escape, or of two that make a surrogate pair, behind the first `\u`.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Character {
        let unit = codeUnit(&rest)
        if unit & 0xFC00 == 0xD800, rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) {
            var following = rest.dropFirst(2)
            let low = codeUnit(&following)
            if low & 0xFC00 == 0xDC00 {
                rest = following
                let value = 0x10000 &+ (unit & 0x3FF) << 10 | (low & 0x3FF)
                return Character(Unicode.Scalar(value) ?? "\u{FFFD}")
            }
        }
        return Character(Unicode.Scalar(unit) ?? "\u{FFFD}")
    }

    private static func codeUnit(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = rest.popFirst().flatMap(hexadecimalValue) else { return 0xFFFD }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
