/// Base64 with `+` and `/`, as PEM has it (RFC 4648, section 4).
package enum Base64 {
    /// With padding, in one line.
    package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        Base64Alphabet.standard.encode(bytes, isPadded: true)
    }

    /// Blanks and line breaks are skipped, padding may be missing; nil when anything else is wrong.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        Base64Alphabet.standard.decode(text.lazy.filter { $0 != 0x20 && !(0x09...0x0D).contains($0) })
    }
}

/// Base64 with `-` and `_` and without padding, as signed tokens have it (RFC 7515, section 2).
package enum Base64URL {
    package static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        Base64Alphabet.url.encode(bytes, isPadded: false)
    }

    /// Strict: nil for padding, blanks, and bits that mean nothing.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard !text.contains(UInt8(ascii: "=")) else { return nil }
        return Base64Alphabet.url.decode(text)
    }
}

/// The 64 characters of one kind of base64, both ways.
private struct Base64Alphabet: Sendable {
    static let standard = Base64Alphabet("+/")
    static let url = Base64Alphabet("-_")

    private let characters: [UInt8]
    /// The value of each byte; 255: none.
    private let values: [UInt8]

    private init(_ lastTwo: String) {
        characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(lastTwo)".utf8)
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in characters.enumerated() {
            values[Int(character)] = UInt8(value)
        }
        self.values = values
    }

    func encode(_ bytes: some Collection<UInt8>, isPadded: Bool) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var buffer = 0
        var bits = 0
        for byte in bytes {
            buffer = (buffer & 0xFF) << 8 | Int(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(characters[buffer >> bits & 63])
            }
        }
        if bits > 0 { text.append(characters[buffer << (6 - bits) & 63]) }
        while isPadded, text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return text
    }

    func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = 0
        var bits = 0
        var count = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            let value = values[Int(character)]
            guard value < 64, padding == 0 else { return nil }
            count += 1
            buffer = (buffer & 0xFFF) << 6 | Int(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        let isWhole = count % 4 != 1 && (padding == 0 || (padding <= 2 && (count + padding) % 4 == 0))
        guard isWhole, buffer & ((1 << bits) - 1) == 0 else { return nil }
        return bytes
    }
}
