import TestSupport
import Testing
import Transport

/// Certificates with keys as people have them: made by `openssl`.
@Suite struct CertifiedKeyTests {
    private static let authority = try? CertificateAuthority(name: "test")
    private static let key = try? authority?.issue(hosts: ["leaf"], userID: "com.example.app")

    /// The leaf, and its authority's certificate after it.
    private func chain() throws -> CertifiedKey {
        let key = try #require(Self.key)
        let authority = try #require(Self.authority)
        return CertifiedKey(chainPEM: key.chainPEM + authority.certificatePEM, keyPEM: key.keyPEM)
    }

    @Test(
        "A .p12 is read whatever its ciphers",
        arguments: [
            [], ["-legacy"], ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-keypbe", "PBE-SHA1-RC2-40"],
            ["-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES"], ["-keypbe", "NONE", "-certpbe", "NONE"],
            ["-macalg", "SHA512"], ["-name", "Apple Push Services: com.example.app"],
        ],
        ["secret word", "pässwört", "", nil]
    )
    func ciphers(arguments: [String], password: String?) async throws {
        let original = try chain()
        let file = try await OpenSSLCommand.pkcs12(original, password: password, arguments: arguments)
        let read = try CertifiedKey(pkcs12: file, password: password.map { Array($0.utf8) })
        #expect(try read.facts() == original.facts())
        #expect(read.chainPEM == original.chainPEM)
        // It can be shown to a server.
        _ = try TLSClientContext(clientCertificate: read)
    }

    @Test("A password that is missing or wrong is called so", arguments: [[], ["-legacy"]])
    func passwords(arguments: [String]) async throws {
        let file = try await OpenSSLCommand.pkcs12(try chain(), password: "right", arguments: arguments)
        #expect(throws: CertifiedKey.Failure.passwordMissing) { try CertifiedKey(pkcs12: file, password: nil) }
        for wrong in ["wrong", "", "right\0"] {
            #expect(throws: CertifiedKey.Failure.passwordWrong) {
                try CertifiedKey(pkcs12: file, password: Array(wrong.utf8))
            }
        }
    }

    @Test("A certificate without its key, and what is none, are told apart")
    func incomplete() async throws {
        let original = try chain()
        let folder = try TemporaryFolder()
        let pem = folder.path(of: "pem")
        try File.write(original.chainPEM, to: pem)
        try await OpenSSLCommand.run(["x509", "-in", pem, "-outform", "DER", "-out", folder.path(of: "cer")])
        let der = try File.read(folder.path(of: "cer"))
        #expect(throws: CertifiedKey.Failure.keyMissing) { try CertifiedKey(pkcs12: der, password: nil) }
        #expect(throws: CertifiedKey.Failure.keyMissing) { try CertifiedKey(pem: original.chainPEM, password: nil) }
        #expect(throws: CertifiedKey.Failure.certificateMissing) {
            try CertifiedKey(pem: original.keyPEM, password: nil)
        }
        #expect(throws: CertifiedKey.Failure.certificateMissing) { try CertifiedKey(pem: [], password: nil) }
        let without = try await OpenSSLCommand.pkcs12(original, password: "x", arguments: ["-nokeys"])
        #expect(throws: CertifiedKey.Failure.keyMissing) {
            try CertifiedKey(pkcs12: without, password: Array("x".utf8))
        }
        let other = try #require(try Self.authority?.issue(hosts: ["other"]))
        #expect(throws: CertifiedKey.Failure.keyOfAnother) {
            try CertifiedKey(pem: original.chainPEM + other.keyPEM, password: nil)
        }
        for bytes in [[], [0x30], [0x30, 0x82, 0xFF, 0xFF], Array(der.prefix(100))] as [[UInt8]] {
            #expect { try CertifiedKey(pkcs12: bytes, password: nil) } throws: { "\($0)".contains("cannot be read") }
        }
    }

    @Test("PEM is read in any order, and with its key encrypted")
    func pem() async throws {
        let original = try chain()
        let authority = try #require(Self.authority)
        let leaf = try #require(Self.key)
        let mixed = leaf.keyPEM + authority.certificatePEM + leaf.chainPEM
        let read = try CertifiedKey(pem: mixed, password: nil)
        #expect(read == original)
        let folder = try TemporaryFolder()
        try File.write(original.keyPEM, to: folder.path(of: "key"))
        for (name, arguments) in [
            ("pkcs8", ["pkcs8", "-topk8", "-v2", "aes-256-cbc"]), ("old", ["ec", "-des3"]),
        ] {
            let place = ["-in", folder.path(of: "key"), "-out", folder.path(of: name), "-passout", "pass:word"]
            try await OpenSSLCommand.run(arguments + place)
            let encrypted = original.chainPEM + (try File.read(folder.path(of: name)))
            #expect(try CertifiedKey(pem: encrypted, password: Array("word".utf8)).facts() == original.facts())
            #expect(throws: CertifiedKey.Failure.passwordMissing) { try CertifiedKey(pem: encrypted, password: nil) }
            #expect(throws: CertifiedKey.Failure.passwordWrong) {
                try CertifiedKey(pem: encrypted, password: Array("other".utf8))
            }
        }
    }

    @Test("What a certificate says is read from it")
    func facts() throws {
        let value: [UInt8] = [0x04, 0x01, 0x2A]
        let key = try #require(
            try Self.authority?.issue(
                hosts: ["leaf.example"],
                secondsFromNow: -10...1000,
                userID: "com.example.app",
                others: [(number: "1.2.840.113635.100.6.3.6", value: value)]
            )
        )
        let facts = try key.facts()
        #expect(facts.commonName == "leaf.example")
        #expect(facts.userID == "com.example.app")
        #expect(facts.notAfter - facts.notBefore == 1010)
        #expect(abs(facts.notAfter - 1000 - currentUnixMilliseconds() / 1000) < 60)
        #expect(facts.extensions["1.2.840.113635.100.6.3.6"] == value)
        #expect(facts.extensions["2.5.29.17"] != nil)
        #expect(facts.fingerprint.count == 32)
    }
}
