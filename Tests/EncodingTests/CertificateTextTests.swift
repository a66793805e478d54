import Encoding
import Testing

@Suite struct CertificateTextTests {
    private static let body = Array(repeating: UInt8(0x30), count: 100)
    private static let base64 = String(decoding: Base64.encode(body), as: UTF8.self)
    private static func block(_ label: String, _ separator: String = "\n") -> String {
        var lines = ["-----BEGIN \(label)-----"]
        let text = Array(base64)
        for start in stride(from: 0, to: text.count, by: 64) {
            lines.append(String(text[start..<min(start + 64, text.count)]))
        }
        return (lines + ["-----END \(label)-----", ""]).joined(separator: separator)
    }
    private static let both = block("CERTIFICATE") + block("PRIVATE KEY")

    @Test(
        "PEM comes out the same however it was pasted",
        arguments: [
            both, block("CERTIFICATE", "\r\n") + block("PRIVATE KEY", "\r\n"),
            block("CERTIFICATE", "\\n") + block("PRIVATE KEY", "\\n"),
            block("CERTIFICATE", "") + block("PRIVATE KEY", ""), block("CERTIFICATE", " ") + block("PRIVATE KEY", " "),
            "\"\(both)\"", "Bag Attributes\n    friendlyName: Apple\n" + both, "\u{FEFF}" + both,
            String(decoding: Base64.encode(Array(both.utf8)), as: UTF8.self),
        ]
    )
    func pasted(text: String) {
        #expect(CertificateText(Array(text.utf8)) == .pem(Array(Self.both.utf8)))
    }

    @Test("Headers of an encrypted key stay where they are")
    func headers() {
        let text =
            "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES,00\n\nAAAA\n-----END EC PRIVATE KEY-----\n"
        #expect(CertificateText(Array(text.utf8)) == .pem(Array(text.utf8)))
    }

    @Test("Bytes, and base64 of them, are DER")
    func der() {
        let file: [UInt8] = [0x30, 0x82, 0x00, 0x01, 0xFF, 0x22, 0x5C, 0x6E]
        #expect(CertificateText(file) == .der(file))
        #expect(CertificateText(Base64.encode(file)) == .der(file))
        #expect(CertificateText(Array("\"".utf8) + Base64.encode(file) + Array("\n\"".utf8)) == .der(file))
        #expect(CertificateText(Base64URL.encode(file)) == .der(file))
    }

    @Test("Anything else is none", arguments: ["", " ", "secret!", "-----BEGIN CERTIFICATE-----", "AAAA"])
    func none(text: String) {
        #expect(CertificateText(Array(text.utf8)) == nil)
    }
}
