/// Texts as people paste them into variables and secrets.
enum PastedText {
    /// Without byte order marks, quotation marks and backslashes; `\n`, `\r` and `\t` written out become line breaks.
    ///
    /// UTF-16, as some editors write it, becomes plain.
    static func withoutEscapes(_ text: [UInt8]) -> [UInt8] {
        var text = text
        if text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) {
            text = text.dropFirst(2).filter { $0 != 0 }
        }
        var clean: [UInt8] = []
        clean.reserveCapacity(text.count)
        var index = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while index < text.count {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "\\") {
                guard index < text.count, "nrt".utf8.contains(text[index]) else { continue }
                clean.append(0x0A)
                index += 1
            } else if byte != UInt8(ascii: "\""), byte != UInt8(ascii: "'") {
                clean.append(byte)
            }
        }
        return clean
    }

    /// Base64 in either alphabet; nil for anything else.
    static func base64(_ text: [UInt8]) -> [UInt8]? {
        let standard = text.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        return Base64.decode(standard)
    }

    static func position(of needle: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard text.count >= needle.count else { return nil }
        return (text.startIndex...(text.endIndex - needle.count)).first { text[$0...].starts(with: needle) }
    }
}

/// What a text with a certificate turns out to be.
package enum CertificateText: Equatable, Sendable {
    /// PEM with proper lines.
    case pem([UInt8])
    /// DER: a `.p12`, if anything.
    case der([UInt8])

    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)
    /// The longest text that is looked at; a `.p12` with its chain has a tenth of it.
    private static let maximumBytes = 256 << 10

    /// Finds the certificate in what people paste: a file's bytes, PEM in any number of lines, or base64 of either.
    ///
    /// Nil when there is none.
    package init?(_ text: [UInt8]) {
        guard text.count <= Self.maximumBytes else { return nil }
        if text.starts(with: [0x30, 0x80]) || text.starts(with: [0x30, 0x82]) || text.starts(with: [0x30, 0x83]) {
            self = .der(text)
            return
        }
        let clean = PastedText.withoutEscapes(text)
        if let pem = Self.lines(clean) {
            self = .pem(pem)
            return
        }
        guard let decoded = PastedText.base64(clean), !decoded.isEmpty else { return nil }
        if let pem = Self.lines(PastedText.withoutEscapes(decoded)) {
            self = .pem(pem)
        } else if decoded.first == 0x30 {
            self = .der(decoded)
        } else {
            return nil
        }
    }

    /// The blocks of a PEM text with lines of their own; nil when there is none.
    private static func lines(_ text: [UInt8]) -> [UInt8]? {
        var result: [UInt8] = []
        var rest = text[...]
        while let start = PastedText.position(of: begin, in: rest) {
            let afterBegin = rest[(start + begin.count)...]
            guard let labelEnd = PastedText.position(of: dashes, in: afterBegin) else { break }
            let label = Array(afterBegin[..<labelEnd])
            let body = afterBegin[(labelEnd + dashes.count)...]
            guard let bodyEnd = PastedText.position(of: end, in: body) else { break }
            result += begin + label + dashes + [0x0A] + wrapped(body[..<bodyEnd]) + end + label + dashes + [0x0A]
            rest = body[(bodyEnd + end.count)...]
        }
        return result.isEmpty ? nil : result
    }

    /// Base64 in lines of 64; what has headers (RFC 1421) or is none stays as it is.
    private static func wrapped(_ body: ArraySlice<UInt8>) -> [UInt8] {
        guard !body.contains(UInt8(ascii: ":")), let bytes = Base64.decode(body) else {
            let text = body.drop { $0 <= 0x20 }
            return text.last == 0x0A ? Array(text) : text + [0x0A]
        }
        let text = Base64.encode(bytes)
        return stride(from: 0, to: text.count, by: 64).flatMap { text[$0..<min($0 + 64, text.count)] + [0x0A] }
    }
}
