import Encoding
package import Transport

/// A certificate for APNs with its key, and what it may be used for.
///
/// Apple: Establishing a certificate-based connection to APNs; the topics are in the extension
/// 1.2.840.113635.100.6.3.6, and in certificates for one app alone in the subject's UID.
package struct APNsCertificate: Sendable {
    package let certifiedKey: CertifiedKey
    /// For people: the subject's common name.
    package let name: String
    /// What `apns-topic` may be; empty: the certificate does not say.
    package let topics: [String]
    /// Older certificates are for one of them.
    package let environments: Set<APNsEnvironment>
    /// Unix seconds between which it is valid.
    package let validity: ClosedRange<Int64>
    /// SHA-256 in hexadecimal digits.
    package let fingerprint: String

    private static let topicExtensions = ["1.2.840.113635.100.6.3.6", "1.2.840.113635.100.6.3.4"]
    private static let environmentExtensions: [(number: String, environment: APNsEnvironment)] = [
        ("1.2.840.113635.100.6.3.1", .development), ("1.2.840.113635.100.6.3.2", .production),
    ]

    /// Reads a `.p12`, or PEM with its key, however it was pasted.
    package init(_ text: [UInt8], password: [UInt8]?) throws(CertifiedKey.Failure) {
        switch CertificateText(text) {
        case .pem(let pem): try self.init(CertifiedKey(pem: pem, password: password))
        case .der(let der): try self.init(CertifiedKey(pkcs12: der, password: password))
        case nil: throw .certificateMissing
        }
    }

    package init(_ certifiedKey: CertifiedKey) throws(CertifiedKey.Failure) {
        let facts: CertificateFacts
        do {
            facts = try certifiedKey.facts()
        } catch {
            throw .unreadable("\(error)")
        }
        self.certifiedKey = certifiedKey
        name = facts.commonName ?? "without a name"
        fingerprint = Digest.hexadecimal(facts.fingerprint)
        validity = facts.notBefore...max(facts.notBefore, facts.notAfter)
        let listed = Self.topicExtensions.flatMap { facts.extensions[$0].map(APNsTopicList.read) ?? [] }
        let single = facts.userID.flatMap { APNsTopicList.isTopic($0) ? [$0] : nil }
        topics = listed.isEmpty ? single ?? [] : listed
        let marked = Self.environmentExtensions.filter { facts.extensions[$0.number] != nil }.map(\.environment)
        environments = marked.isEmpty ? Set(APNsEnvironment.allCases) : Set(marked)
    }

    /// Whether requests with this `apns-topic` can be sent with it.
    package func covers(_ topic: String) -> Bool {
        topics.isEmpty || topics.contains(topic)
    }
}

extension APNsCertificate {
    /// How near its end a certificate must be for a warning, in seconds.
    private static let warningSeconds: Int64 = 30 * 86_400

    private static let renewal =
        "make a new one at developer.apple.com (Certificates), export it with its key, and put it in its place"

    /// Why it cannot be used at a time, as the end of the sentence "the certificate …"; nil: it can be used.
    package func problem(unixSeconds now: Int64) -> String? {
        if now > validity.upperBound {
            return "ended on \(Self.day(validity.upperBound)), and APNs takes it no more; \(Self.renewal)"
        }
        guard now < validity.lowerBound else { return nil }
        let start = Self.day(validity.lowerBound)
        return "is valid from \(start) on; is this machine's clock right (\(Self.day(now)))?"
    }

    /// What a person should do soon, as the end of the same sentence.
    package func warning(unixSeconds now: Int64) -> String? {
        let left = validity.upperBound - now
        guard (0..<Self.warningSeconds).contains(left) else { return nil }
        let days = left / 86_400
        let time = days == 1 ? "1 day" : "\(days) days"
        return "ends on \(Self.day(validity.upperBound)), in \(time); \(Self.renewal)"
    }

    private static func day(_ unixSeconds: Int64) -> String {
        String(Timestamp.text(unixMilliseconds: unixSeconds * 1000).prefix(10))
    }
}
