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
        let clean = PastedText.withoutEscapes(text)
        guard clean.contains(where: { $0 > 0x20 }) else { throw .empty }
        if clean.starts(with: [0x30, 0x82]) || clean.starts(with: [0x30, 0x81]) { return text }
        if let der = try armoured(clean) { return der }
        guard let decoded = PastedText.base64(clean) else { throw .notAKey }
        if let der = try armoured(PastedText.withoutEscapes(decoded)) { return der }
        guard decoded.first == 0x30 else { throw .notAKey }
        return decoded
    }

    /// What stands between the lines of the first private key of a PEM text; nil when it is no PEM text.
    private static func armoured(_ text: [UInt8]) throws(KeyError) -> [UInt8]? {
        var other: String?
        var rest = text[...]
        while let start = PastedText.position(of: begin, in: rest) {
            let afterBegin = rest[(start + begin.count)...]
            guard let labelEnd = PastedText.position(of: dashes, in: afterBegin) else { throw .cutOff }
            let label = String(decoding: afterBegin[..<labelEnd].prefix(40), as: UTF8.self)
            rest = afterBegin[(labelEnd + dashes.count)...]
            // Curve parameters and certificates may stand before the key.
            if label.hasSuffix("PRIVATE KEY") { return try body(of: label, in: rest) }
            other = other ?? label
        }
        if let other { throw .otherPEM(other) }
        return nil
    }

    private static func body(of label: String, in text: ArraySlice<UInt8>) throws(KeyError) -> [UInt8] {
        if label == "ENCRYPTED PRIVATE KEY" { throw .encrypted }
        guard let bodyEnd = PastedText.position(of: end, in: text) else { throw .cutOff }
        // RFC 1421 headers, as "Proc-Type: 4,ENCRYPTED", stand before the base64 of old encrypted keys.
        if PastedText.position(of: Array("ENCRYPTED".utf8), in: text[..<bodyEnd]) != nil { throw .encrypted }
        guard let der = Base64.decode(text[..<bodyEnd]), !der.isEmpty else { throw .cutOff }
        return der
    }
}
