package import Encoding

/// A key for APNs with its two identifiers: what token authentication needs.
package struct APNsCredential: Sendable {
    /// ES256.
    package let key: SigningKey
    /// Ten letters and digits, `kid` of the tokens.
    package let keyID: String
    /// Ten letters and digits, `iss` of the tokens.
    package let teamID: String

    package init(key: SigningKey, keyID: String, teamID: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// The key ID in the name of a file from Apple: `AuthKey_<ID>.p8` or `AuthKey<ID>.p8`, perhaps with the ` (1)` of a
    /// second download.
    package static func keyID(inPath path: String) -> String? {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        guard name.hasPrefix("AuthKey"), name.hasSuffix(".p8") else { return nil }
        var rest = name.dropFirst("AuthKey".count).dropLast(".p8".count)
        if rest.hasPrefix("_") { rest = rest.dropFirst() }
        if rest.hasSuffix(")"), let bracket = rest.lastIndex(of: "(") {
            let number = rest[rest.index(after: bracket)...].dropLast()
            guard !number.isEmpty, number.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
            rest = rest[..<bracket]
            while rest.hasSuffix(" ") { rest = rest.dropLast() }
        }
        return isIdentifier(rest) ? String(rest) : nil
    }

    /// Whether a text is a key ID or a team ID as Apple makes them.
    package static func isIdentifier(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 10 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }
}
