import Encoding
import Testing

@Suite struct SignedTokenTests {
    private func makeToken(_ key: SigningKey) throws -> [UInt8] {
        try SignedToken.make(keyID: "ABCDEFGHIJ", key: key) { claims in
            claims.key("iss")
            claims.string("TEAM")
            claims.key("iat")
            claims.integer(1_764_500_000)
        }
    }

    @Test("Header and claims stand as given, before a signature that fits")
    func makes() throws {
        let key = try SigningKey(Array(TestKeys.p256.utf8), .es256)
        let bytes = try makeToken(key)
        let text = String(decoding: bytes, as: UTF8.self)
        // {"alg":"ES256","kid":"ABCDEFGHIJ"} and {"iss":"TEAM","iat":1764500000}
        #expect(
            text.hasPrefix("eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQ0RFRkdISUoifQ.eyJpc3MiOiJURUFNIiwiaWF0IjoxNzY0NTAwMDAwfQ.")
        )
        let token = try #require(SignedToken(bytes))
        #expect(token.header.root["kid"]?.string == "ABCDEFGHIJ")
        #expect(token.claims.root["iat"]?.integer == 1_764_500_000)
        #expect(token.isSigned(by: key))
        #expect(try !token.isSigned(by: SigningKey.generate(.es256)))
    }

    @Test("A token for Google names its type")
    func namesItsType() throws {
        let key = try SigningKey(Array(TestKeys.rsa.utf8), .rs256)
        let token = try SignedToken.make(keyID: nil, hasType: true, key: key) { _ in }
        let text = String(decoding: token, as: UTF8.self)
        // {"alg":"RS256","typ":"JWT"} and {}
        #expect(text.hasPrefix("eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.e30."))
        #expect(SignedToken(token)?.isSigned(by: key) == true)
    }

    @Test(
        "What is no token is refused",
        arguments: [
            "", ".", "..", "a.b", "e30.e30", "e30.e30.e30.e30", "e30=.e30.", "W10.e30.", "e30.W10.", "?.e30.",
            "e30.e30.?",
        ]
    )
    func refuses(text: String) {
        #expect(SignedToken(Array(text.utf8)) == nil)
    }

    @Test("A token that says another algorithm than the key's is not signed by it")
    func comparesTheAlgorithm() throws {
        let key = try SigningKey(Array(TestKeys.p256.utf8), .es256)
        let signedPart = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + [UInt8(ascii: ".")] + Array("e30".utf8)
        let bytes = signedPart + [UInt8(ascii: ".")] + Base64URL.encode(try key.sign(signedPart))
        #expect(SignedToken(bytes)?.isSigned(by: key) == false)
    }

    @Test("A changed claim breaks the signature")
    func noticesChanges() throws {
        let key = try SigningKey(Array(TestKeys.p256.utf8), .es256)
        let bytes = try makeToken(key)
        let parts = bytes.split(separator: UInt8(ascii: "."))
        let changed = Array(parts[0]) + Array(".e30.".utf8) + Array(parts[2])
        #expect(SignedToken(changed)?.isSigned(by: key) == false)
    }
}
