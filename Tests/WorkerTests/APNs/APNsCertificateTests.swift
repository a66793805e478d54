import Encoding
import Testing
import Transport
import Worker

@Suite struct APNsCertificateTests {
    private static let day = 86_400

    @Test("Topics are read from Apple's extension, or from the subject")
    func topics() throws {
        let several = ["com.example.app", "com.example.app.voip", "com.example.app.complication"]
        let universal = try APNsCertificate(CredentialSamples.certifiedKey(topics: several))
        #expect(universal.topics == several)
        #expect(universal.covers("com.example.app.voip") && !universal.covers("com.example"))
        let single = try CredentialSamples.authority.get().issue(hosts: ["old"], userID: "com.example.old")
        #expect(try APNsCertificate(single).topics == ["com.example.old"])
        let silent = try APNsCertificate(CredentialSamples.certifiedKey(topics: []))
        #expect(silent.topics.isEmpty && silent.covers("com.anything"))
    }

    @Test(
        "What is no list of topics has none",
        arguments: [
            ([], []), ([0x05, 0x00], []), ([0x30], []), ([0x30, 0x05, 0x0C, 0x01, 0x61], []),
            ([0x30, 0x03, 0x0C, 0x01, 0x61], ["a"]), ([0x30, 0x81, 0x03, 0x16, 0x01, 0x61], ["a"]),
            ([0x30, 0x03, 0x0C, 0x05, 0x61], []), ([0x30, 0x03, 0x0C, 0x01, 0x20], []),
            ([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0x0C], []), ([0x30, 0x80, 0x0C, 0x01, 0x61], []),
            ([0x30, 0x08, 0x30, 0x03, 0x0C, 0x01, 0x62, 0x13, 0x01, 0x61], ["a"]),
        ] as [([UInt8], [String])]
    )
    func lists(der: [UInt8], topics: [String]) {
        #expect(APNsTopicList.read(der) == topics)
    }

    @Test(
        "Older certificates are for one environment",
        arguments: [
            ([], [.development, .production]), (["1.2.840.113635.100.6.3.1"], [.development]),
            (["1.2.840.113635.100.6.3.2"], [.production]),
            (["1.2.840.113635.100.6.3.1", "1.2.840.113635.100.6.3.2"], [.development, .production]),
        ] as [([String], Set<APNsEnvironment>)]
    )
    func environments(extensions: [String], environments: Set<APNsEnvironment>) throws {
        let key = try CredentialSamples.certifiedKey(
            topics: ["com.a"],
            others: extensions.map { ($0, [0x05, 0x00]) }
        )
        #expect(try APNsCertificate(key).environments == environments)
    }

    @Test("It says when it ends: nothing, a warning in the last 30 days, then that it cannot be used")
    func time() throws {
        let certificate = try APNsCertificate(
            CredentialSamples.certifiedKey(topics: ["com.a"], secondsFromNow: 0...(100 * Self.day))
        )
        let start = certificate.validity.lowerBound
        func texts(_ days: Int) -> (problem: String?, warning: String?) {
            let now = start + Int64(days * Self.day)
            return (certificate.problem(unixSeconds: now), certificate.warning(unixSeconds: now))
        }
        #expect(texts(1).problem == nil && texts(1).warning == nil)
        #expect(texts(69).warning == nil)
        #expect(texts(71).problem == nil)
        #expect(texts(71).warning?.contains("in 29 days; make a new one") == true)
        #expect(texts(99).warning?.contains("in 1 day;") == true)
        #expect(texts(101).problem?.contains("and APNs takes it no more; make a new one") == true)
        #expect(texts(101).warning == nil)
        #expect(texts(-1).problem?.contains("clock") == true)
    }

    @Test("It is read as .p12, and as PEM in every form in which people paste it")
    func pasted() throws {
        let key = try CredentialSamples.certifiedKey(topics: ["com.a"])
        let pem = key.chainPEM + key.keyPEM
        let fingerprint = try APNsCertificate(key).fingerprint
        let text = String(decoding: pem, as: UTF8.self)
        for form in [
            text, text.split(separator: "\n").joined(separator: "\\n"), text.split(separator: "\n").joined(),
            "\"\(text)\"", String(decoding: Base64.encode(pem), as: UTF8.self),
        ] {
            #expect(try APNsCertificate(Array(form.utf8), password: nil).fingerprint == fingerprint)
        }
        for none in ["", "x", "!"] {
            #expect(throws: CertifiedKey.Failure.certificateMissing) {
                try APNsCertificate(Array(none.utf8), password: nil)
            }
        }
    }
}
