import Encoding
import Testing

@Suite struct Base64Tests {
    /// RFC 4648, section 10.
    private static let vectors = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("The vectors of the RFC go both ways", arguments: vectors)
    func vector(text: String, encoded: String) {
        #expect(String(decoding: Base64.encode(Array(text.utf8)), as: UTF8.self) == encoded)
        #expect(Base64.decode(Array(encoded.utf8)) == Array(text.utf8))
        let url = encoded.filter { $0 != "=" }
        #expect(String(decoding: Base64URL.encode(Array(text.utf8)), as: UTF8.self) == url)
        #expect(Base64URL.decode(Array(url.utf8)) == Array(text.utf8))
    }

    @Test("All lengths and bytes go both ways")
    func goesBothWays() {
        for count in 0..<260 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 251 &+ count) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test("The form for URLs has its own two characters")
    func usesItsAlphabet() {
        #expect(String(decoding: Base64URL.encode([0xFB, 0xFF]), as: UTF8.self) == "-_8")
        #expect(String(decoding: Base64.encode([0xFB, 0xFF]), as: UTF8.self) == "+/8=")
        #expect(Base64URL.decode(Array("+/8".utf8)) == nil)
        #expect(Base64.decode(Array("-_8=".utf8)) == nil)
    }

    @Test("Blanks and line breaks are skipped in the usual form only")
    func skipsBlanks() {
        #expect(Base64.decode(Array(" Zm9v\r\nYmFy\t".utf8)) == Array("foobar".utf8))
        #expect(Base64URL.decode(Array("Zm9v\nYmFy".utf8)) == nil)
    }

    @Test(
        "Broken texts are refused",
        arguments: ["A", "Zg=", "Z===", "=", "Zg==Zg==", "Zh==", "Zm9=", "Zm9v=", "Zm\u{e9}v", "Zm9vA"]
    )
    func refuses(text: String) {
        #expect(Base64.decode(Array(text.utf8)) == nil)
    }

    @Test(
        "SHA-256 of the standard's examples",
        arguments: [
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ]
    )
    func digest(text: String, digest: String) {
        #expect(Digest.hexadecimal(Digest.sha256(Array(text.utf8))) == digest)
    }
}
