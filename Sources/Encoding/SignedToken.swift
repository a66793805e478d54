/// A JSON Web Token in its compact form: `header.claims.signature` (RFC 7515, RFC 7519).
package struct SignedToken: Sendable {
    package let header: JSONDocument
    package let claims: JSONDocument
    package let signature: [UInt8]
    private let signedPart: [UInt8]

    /// The longest token that is taken apart.
    private static let maximumBytes = 16 << 10

    /// Makes and signs a token.
    ///
    /// `claims` writes the members of the claims' object.
    package static func make(
        keyID: String?,
        hasType: Bool = false,
        key: SigningKey,
        claims write: (inout JSONWriter) -> Void
    ) throws(KeyError) -> [UInt8] {
        var header = JSONWriter()
        header.beginObject()
        header.key("alg")
        header.string(key.algorithm.rawValue)
        if let keyID {
            header.key("kid")
            header.string(keyID)
        }
        if hasType {
            header.key("typ")
            header.string("JWT")
        }
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        write(&claims)
        claims.endObject()
        let dot = [UInt8(ascii: ".")]
        let signedPart = Base64URL.encode(header.bytes) + dot + Base64URL.encode(claims.bytes)
        return signedPart + dot + Base64URL.encode(try key.sign(signedPart))
    }

    /// Takes a token apart; nil when it has not the form of one.
    ///
    /// Its signature is not looked at.
    package init?(_ token: some Collection<UInt8>) {
        guard token.count <= Self.maximumBytes else { return nil }
        let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let headerBytes = Base64URL.decode(parts[0]), let header = try? JSONDocument(headerBytes),
            let claimsBytes = Base64URL.decode(parts[1]), let claims = try? JSONDocument(claimsBytes),
            let signature = Base64URL.decode(parts[2]), header.root.isObject, claims.root.isObject
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signedPart = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    }

    /// Whether the key made the signature, with the key's algorithm.
    package func isSigned(by key: SigningKey) -> Bool {
        header.root["alg"]?.string == key.algorithm.rawValue && key.verifies(signature, of: signedPart)
    }
}
