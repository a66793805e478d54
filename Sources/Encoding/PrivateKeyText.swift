/// Finds the bytes of a private key in a text as people paste it.
///
/// Real line breaks of any kind, `\n` written out, everything in one line, quotation marks around it, base64 of the
/// whole text, or only the base64 from between its first and last lines: all alike.
enum PrivateKeyText {
    /// The longest text that is looked at; a key of 16,384 bits has a tenth of it.
    static let maximumBytes = 128 << 10

    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)

    /// The key in DER: PKCS#8, or the older forms of one algorithm.
    static func der(_ text: [UInt8]) throws(KeyError) -> [UInt8] {
        guard text.count <= maximumBytes else { throw .notAKey }
        let clean = withoutEscapes(text)
        guard clean.contains(where: { $0 > 0x20 }) else { throw .empty }
        if clean.starts(with: [0x30, 0x82]) || clean.starts(with: [0x30, 0x81]) { return text }
        if let der = try armoured(clean) { return der }
        guard let decoded = Base64.decode(standardAlphabet(clean)) else { throw .notAKey }
        if let der = try armoured(withoutEscapes(decoded)) { return der }
        guard decoded.first == 0x30 else { throw .notAKey }
        return decoded
    }

    /// What stands between the lines of a PEM text; nil when there is no first line.
    private static func armoured(_ text: [UInt8]) throws(KeyError) -> [UInt8]? {
        guard let start = position(of: begin, in: text[...]) else { return nil }
        let afterBegin = text[(start + begin.count)...]
        guard let labelEnd = position(of: dashes, in: afterBegin) else { throw .cutOff }
        let label = String(decoding: afterBegin[..<labelEnd].prefix(40), as: UTF8.self)
        if label == "ENCRYPTED PRIVATE KEY" { throw .encrypted }
        guard label.hasSuffix("PRIVATE KEY") else { throw .otherPEM(label) }
        let body = text[(labelEnd + dashes.count)...]
        guard let bodyEnd = position(of: end, in: body) else { throw .cutOff }
        // RFC 1421 headers, as "Proc-Type: 4,ENCRYPTED", stand before the base64 of old encrypted keys.
        if position(of: Array("ENCRYPTED".utf8), in: body[..<bodyEnd]) != nil { throw .encrypted }
        guard let der = Base64.decode(body[..<bodyEnd]), !der.isEmpty else { throw .cutOff }
        return der
    }

    /// Without byte order mark and quotation marks; `\n`, `\r` and `\t` written out become blanks.
    private static func withoutEscapes(_ text: [UInt8]) -> [UInt8] {
        var clean: [UInt8] = []
        clean.reserveCapacity(text.count)
        var index = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while index < text.count {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "\\"), index < text.count, "nrt".utf8.contains(text[index]) {
                clean.append(0x0A)
                index += 1
            } else if byte != UInt8(ascii: "\""), byte != UInt8(ascii: "'") {
                clean.append(byte)
            }
        }
        return clean
    }

    /// Base64 of the other alphabet, as some tools for secrets write it.
    private static func standardAlphabet(_ text: [UInt8]) -> [UInt8] {
        text.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
    }

    private static func position(of needle: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        guard text.count >= needle.count else { return nil }
        return (text.startIndex...(text.endIndex - needle.count)).first { text[$0...].starts(with: needle) }
    }
}
