extension JSONScanner {
    /// Scans a text whose opening quote is at the position.
    mutating func scanString() throws(JSONError) {
        let start = position
        var hasEscapes = false
        var hasLoneSurrogate = false
        position &+= 1
        while true {
            skipPlain()
            let byte = try current()
            if byte == UInt8(ascii: "\"") {
                position &+= 1
                break
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                if try scanEscape() { hasLoneSurrogate = true }
            } else if byte < 0x20 {
                throw JSONError(.controlCharacter, at: position)
            } else if byte < 0x80 {
                position &+= 1
            } else {
                try scanNonASCII(byte)
            }
        }
        nodes.append(
            JSONNode(
                kind: .string,
                start: start,
                end: position,
                next: nodes.count &+ 1,
                hasEscapes: hasEscapes,
                hasLoneSurrogate: hasLoneSurrogate
            )
        )
    }

    /// Goes to the next byte of a text that is a quote, a backslash, a control character or no ASCII, eight bytes at a
    /// time; near the end of the text it may stop before.
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        while position &+ 8 <= end {
            let word = unsafe UInt64(
                littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self)
            )
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            // The lowest marked byte is exact; those above it need not be.
            let marks =
                ((quotes &- ones) & ~quotes)
                | ((backslashes &- ones) & ~backslashes)
                | ((word &- ones &* 0x20) & ~word)
                | word
            if marks & tops != 0 {
                position &+= (marks & tops).trailingZeroBitCount >> 3
                return
            }
            position &+= 8
        }
    }

    /// Scans an escape whose backslash is at the position; true when it names half of a surrogate pair only.
    private mutating func scanEscape() throws(JSONError) -> Bool {
        let start = position
        position &+= 1
        switch try current() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position &+= 1
            return false
        case UInt8(ascii: "u"):
            position &+= 1
            guard let unit = hexadecimal(at: position) else { throw JSONError(.badEscape, at: start) }
            position &+= 4
            guard unit & 0xF800 == 0xD800 else { return false }
            guard unit < 0xDC00, byte(at: position) == UInt8(ascii: "\\"), byte(at: position &+ 1) == UInt8(ascii: "u"),
                let low = hexadecimal(at: position &+ 2), low & 0xFC00 == 0xDC00
            else { return true }
            position &+= 6
            return false
        default:
            throw JSONError(.badEscape, at: start)
        }
    }

    private func hexadecimal(at place: Int) -> UInt16? {
        var value: UInt16 = 0
        for index in place..<(place &+ 4) {
            guard let digit = JSONString.hexadecimalValue(byte(at: index)) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    /// Scans a run of characters beyond ASCII (RFC 3629 section 4), whose first byte is at the position.
    private mutating func scanNonASCII(_ first: UInt8) throws(JSONError) {
        var lead = first
        repeat {
            let length = JSONString.sequenceLength(
                lead,
                byte(at: position &+ 1),
                byte(at: position &+ 2),
                byte(at: position &+ 3)
            )
            guard length > 0 else { throw JSONError(.notUTF8, at: position) }
            position &+= length
            lead = byte(at: position)
        } while lead >= 0x80
    }
}
