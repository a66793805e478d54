import Encoding
import Testing

@Suite struct SigningKeyTests {
    private static func base64(_ text: String) -> String {
        String(decoding: Base64.encode(Array(text.utf8)), as: UTF8.self)
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    private static let pastedForms: [(String, String)] = [
        ("as Apple gives it", TestKeys.p256),
        ("line breaks of Windows", lines(TestKeys.p256).joined(separator: "\r\n")),
        ("no line break at the end, blanks around", "  \n" + lines(TestKeys.p256).joined(separator: "\n") + "  "),
        ("\\n written out", lines(TestKeys.p256).joined(separator: "\\n")),
        ("\\r\\n written out, in quotation marks", "\"" + lines(TestKeys.p256).joined(separator: "\\r\\n") + "\""),
        ("one line with blanks", lines(TestKeys.p256).joined(separator: " ")),
        ("one line without anything between", lines(TestKeys.p256).joined()),
        ("byte order mark", "\u{FEFF}" + TestKeys.p256),
        ("text before and after", "Bag Attributes: none\n" + TestKeys.p256 + "end\n"),
        ("base64 of the whole", base64(TestKeys.p256)),
        (
            "base64 of the whole in lines of 76",
            base64(TestKeys.p256).enumerated().reduce(into: "") { text, next in
                text += (next.offset > 0 && next.offset % 76 == 0 ? "\n" : "") + String(next.element)
            }
        ),
        ("base64 of the whole without padding", base64(TestKeys.p256).filter { $0 != "=" }),
        ("base64 for URLs", String(base64(TestKeys.p256).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })),
        ("base64 of the one with \\n written out", base64(lines(TestKeys.p256).joined(separator: "\\n"))),
        ("only what is between the lines", lines(TestKeys.p256).dropFirst().dropLast().joined()),
        ("the older form", TestKeys.p256OlderForm),
        ("\\n written out twice", lines(TestKeys.p256).joined(separator: "\\\\n")),
        (
            "after its curve",
            "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + TestKeys.p256OlderForm
        ),
        ("after its certificate", "-----BEGIN CERTIFICATE-----\nMIGH\n-----END CERTIFICATE-----\n" + TestKeys.p256),
    ]

    @Test("A .p8 is read in every form in which people paste it", arguments: pastedForms)
    func readsPastedForms(form: String, text: String) throws {
        let key = try SigningKey(Array(text.utf8), .es256)
        #expect(String(decoding: try key.privatePEM(), as: UTF8.self) == TestKeys.p256, "\(form)")
    }

    @Test("UTF-16, as editors of Windows save it, is read", arguments: [false, true])
    func utf16(isBigEndian: Bool) throws {
        let units = [UInt16(0xFEFF)] + Array(TestKeys.p256.utf16)
        let bytes = units.flatMap { unit in
            let pair = [UInt8(truncatingIfNeeded: unit >> 8), UInt8(truncatingIfNeeded: unit)]
            return isBigEndian ? pair : pair.reversed()
        }
        #expect(String(decoding: try SigningKey(bytes, .es256).privatePEM(), as: UTF8.self) == TestKeys.p256)
    }

    @Test(
        "A text that is no usable key is refused with the reason",
        arguments: [
            ("", SigningKey.Algorithm.es256, "is empty"),
            (" \n\\n\t", .es256, "is empty"),
            ("hello", .es256, "is no private key"),
            ("not base64!", .es256, "is no private key"),
            ("/etc/keys/AuthKey_ABCDEFGHIJ.p8", .es256, "is no private key"),
            ("-----BEGIN CERTIFICATE-----\nMIGH\n-----END CERTIFICATE-----", .es256, "is a certificate"),
            ("-----BEGIN PUBLIC KEY-----\nMIGH\n-----END PUBLIC KEY-----", .es256, "is a public key"),
            (TestKeys.encrypted, .es256, "is encrypted"),
            (TestKeys.encryptedOlderForm, .es256, "is encrypted"),
            ("-----BEGIN PRIVATE KEY-----", .es256, "is not whole"),
            ("-----BEGIN PRIVATE", .es256, "is not whole"),
            ("-----BEGIN PRIVATE KEY-----\nMIGH", .es256, "is not whole"),
            ("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----", .es256, "is not whole"),
            ("-----BEGIN PRIVATE KEY-----\n?\n-----END PRIVATE KEY-----", .es256, "is not whole"),
            ("-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----", .es256, "cannot be read"),
            (String(TestKeys.p256.dropLast(90)), .es256, "is not whole"),
            (TestKeys.rsa, .es256, "is an RSA key of 2048 bits, and must be an EC key on the curve P-256"),
            (TestKeys.p384, .es256, "is an EC key of 384 bits, and must be"),
            (TestKeys.p256, .rs256, "is an EC key of 256 bits, and must be an RSA key"),
            (TestKeys.rsa1024, .rs256, "is an RSA key of 1024 bits, and must be"),
            (String(repeating: "A", count: 200_000), .es256, "is no private key"),
        ] as [(String, SigningKey.Algorithm, String)]
    )
    func refuses(text: String, algorithm: SigningKey.Algorithm, reason: String) {
        let error = #expect(throws: KeyError.self) { try SigningKey(Array(text.utf8), algorithm) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test("The signature of RFC 7515, appendix A.3, is verified, and no other")
    func verifiesThePublishedSignature() throws {
        let key = try SigningKey(Array(TestKeys.p256.utf8), .es256)
        let signedPart =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let published = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        var signature = try #require(Base64URL.decode(Array(published.utf8)))
        #expect(key.verifies(signature, of: Array(signedPart.utf8)))
        #expect(!key.verifies(signature, of: Array(signedPart.utf8) + [0]))
        #expect(!key.verifies(Array(signature.dropLast()), of: Array(signedPart.utf8)))
        signature[5] ^= 1
        #expect(!key.verifies(signature, of: Array(signedPart.utf8)))
        #expect(!key.verifies([], of: Array(signedPart.utf8)))
        #expect(!key.verifies([UInt8](repeating: 0, count: 64), of: Array(signedPart.utf8)))
    }

    @Test("ES256 signatures have 64 bytes, whatever R and S are")
    func signsWithES256() throws {
        let key = try SigningKey(Array(TestKeys.p256.utf8), .es256)
        for number in 0..<300 {
            let message = Array("message \(number)".utf8)
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(key.verifies(signature, of: message))
        }
    }

    @Test("RS256 signs as OpenSSL's program does")
    func signsWithRS256() throws {
        let key = try SigningKey(Array(TestKeys.rsa.utf8), .rs256)
        let signature = try key.sign(Array("header.claims".utf8))
        #expect(String(decoding: Base64.encode(signature), as: UTF8.self) == TestKeys.rsaSignature)
        #expect(key.verifies(signature, of: Array("header.claims".utf8)))
        #expect(!key.verifies(signature, of: Array("header.claimz".utf8)))
    }

    @Test(
        "A new key is read again from its PEM, and another key does not verify",
        arguments: [SigningKey.Algorithm.es256, .rs256]
    )
    func generates(algorithm: SigningKey.Algorithm) throws {
        let key = try SigningKey.generate(algorithm)
        let again = try SigningKey(key.privatePEM(), algorithm)
        let other = try SigningKey.generate(algorithm)
        let message = Array("message".utf8)
        let signature = try again.sign(message)
        #expect(key.verifies(signature, of: message))
        #expect(!other.verifies(signature, of: message))
        #expect(try key.publicPEM() == again.publicPEM())
        #expect(String(decoding: try key.publicPEM(), as: UTF8.self).hasPrefix("-----BEGIN PUBLIC KEY-----\n"))
    }
}
