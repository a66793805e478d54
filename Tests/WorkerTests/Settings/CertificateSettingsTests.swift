import Encoding
import TestSupport
import Testing
import Transport
import Worker

@Suite struct CertificateSettingsTests {
    private static let path = "/certificates/apns.p12"

    private func input(
        _ file: [UInt8],
        password: String? = nil,
        isReadableByOthers: Bool = false
    ) -> SettingsInput {
        var input = SettingsInput(environment: ["PUSHBRIDGE_APNS_CERTIFICATE_FILE": Self.path])
        input.now = currentUnixMilliseconds() / 1000
        input.files[Self.path] = FileContents(bytes: file, isReadableByOthers: isReadableByOthers)
        if let password {
            input.environment["PUSHBRIDGE_APNS_CERTIFICATE_PASSWORD_FILE"] = "/password"
            input.files["/password"] = FileContents(
                bytes: Array(password.utf8),
                isReadableByOthers: isReadableByOthers
            )
        }
        return input
    }

    @Test("A .p12 is read with its password from a file, with and without a line break", arguments: ["", "\n", "\r\n"])
    func p12(ending: String) async throws {
        let key = try CredentialSamples.certifiedKey(topics: ["com.example.app", "com.example.app.voip"])
        let file = try await OpenSSLCommand.pkcs12(key, password: " two words ", arguments: ["-legacy"])
        let settings = input(file, password: " two words \(ending)")
        let certificate = try #require(try settings.certificate())
        #expect(certificate.topics == ["com.example.app", "com.example.app.voip"])
        #expect(try settings.read().warnings.isEmpty)
        #expect(try settings.read().credentials.map(\.isFallback) == [true])
    }

    @Test("PEM and base64 may stand in the variable itself")
    func variable() async throws {
        let key = try CredentialSamples.certifiedKey(topics: ["com.example.app"])
        let file = try await OpenSSLCommand.pkcs12(key, password: nil)
        for bytes in [key.chainPEM + key.keyPEM, Base64.encode(file)] {
            let text = String(decoding: bytes, as: UTF8.self)
            var input = SettingsInput(environment: ["PUSHBRIDGE_APNS_CERTIFICATE": text])
            input.now = currentUnixMilliseconds() / 1000
            #expect(try input.certificate()?.topics == ["com.example.app"])
        }
    }

    @Test("What is wrong with a certificate is said, with how to mend it, and without a secret")
    func wrong() async throws {
        let key = try CredentialSamples.certifiedKey(topics: ["com.example.app"])
        let file = try await OpenSSLCommand.pkcs12(key, password: "s3cret")
        let cases: [(input: SettingsInput, parts: [String])] = [
            (input(file), ["protected by a password", "PUSHBRIDGE_APNS_CERTIFICATE_PASSWORD_FILE names the file"]),
            (input(file, password: "wr0ng"), ["does not open with this password"]),
            (input(key.chainPEM), ["comes without its private key", "as .p12"]),
            (input(key.keyPEM), ["neither a .p12 nor PEM"]),
            (input([0x30, 0x82, 0x01]), ["cannot be read"]),
            (
                SettingsInput(environment: ["PUSHBRIDGE_APNS_CERTIFICATE": Self.path]),
                ["PUSHBRIDGE_APNS_CERTIFICATE_FILE is the one that reads a file"]
            ),
            (
                SettingsInput(environment: ["PUSHBRIDGE_APNS_CERTIFICATE_PASSWORD": "s3cret"]),
                ["PUSHBRIDGE_APNS_CERTIFICATE is missing, while PUSHBRIDGE_APNS_CERTIFICATE_PASSWORD is set"]
            ),
        ]
        for (input, parts) in cases {
            let problems = input.problems()
            #expect(problems.count == 1, "\(problems)")
            for part in parts { #expect(problems.first?.contains(part) == true, "\(problems)") }
            #expect(!problems.joined().contains("s3cret") && !problems.joined().contains("wr0ng"))
            #expect(!problems.joined().contains("MIG"))
        }
    }

    @Test("One that ends soon is a warning, one that has ended ends the start")
    func time() throws {
        let key = try CredentialSamples.certifiedKey(topics: ["com.example.app"])
        var input = input(key.chainPEM + key.keyPEM)
        #expect(try input.read().warnings.isEmpty)
        input.now += Int64(CredentialSamples.year) - 10 * 86_400 - 43_200
        let warnings = try input.read().warnings
        #expect(warnings.count == 1 && warnings[0].contains("PUSHBRIDGE_APNS_CERTIFICATE_FILE"), "\(warnings)")
        #expect(warnings[0].contains("com.example.app ends on") && warnings[0].contains("in 10 days"), "\(warnings)")
        input.now += 11 * 86_400
        #expect(input.problems().first?.contains("ended on") == true)
        #expect(input.problems().first?.contains("developer.apple.com") == true)
    }

    @Test("Files that others may read are a warning, the password's too")
    func readableByOthers() async throws {
        let key = try CredentialSamples.certifiedKey(topics: ["com.example.app"])
        let file = try await OpenSSLCommand.pkcs12(key, password: "x")
        let warnings = try input(file, password: "x", isReadableByOthers: true).read().warnings
        #expect(warnings.count == 2)
        #expect(warnings.allSatisfy { $0.contains("others may read the file") })
    }
}
