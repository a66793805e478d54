import Encoding
package import Transport

/// What APNs reads in the certificate that a connection has shown (Apple: Establishing a certificate-based connection
/// to APNs).
package struct APNsCertificateCheck: Equatable, Sendable {
    /// The extension that lists topics.
    package static let topicExtension = "1.2.840.113635.100.6.3.6"
    private static let environmentExtensions = [
        "development": "1.2.840.113635.100.6.3.1", "production": "1.2.840.113635.100.6.3.2",
    ]

    package let topics: [String]
    /// Empty: for both.
    package let environments: Set<String>

    package init(_ certificate: CertificateFacts) {
        var topics: [String] = []
        var value = (certificate.extensions[Self.topicExtension] ?? [])[...]
        var list = DER(takenFrom: &value)?.content ?? []
        while let element = DER(takenFrom: &list) {
            if element.kind == DER.utf8String { topics.append(String(decoding: element.content, as: UTF8.self)) }
        }
        self.topics = topics.isEmpty ? certificate.userID.map { [$0] } ?? [] : topics
        environments = Set(
            Self.environmentExtensions.filter { certificate.extensions[$0.value] != nil }.map(\.key)
        )
    }

    /// The value of the extension that lists these topics.
    package static func topicList(_ topics: [String]) -> [UInt8] {
        let elements = topics.flatMap { topic in
            let kind =
                topic.split(separator: ".").last { $0 == "voip" || $0 == "complication" }.map(String.init) ?? "app"
            return DER.encode(DER.utf8String, Array(topic.utf8))
                + DER.encode(DER.sequence, DER.encode(DER.utf8String, Array(kind.utf8)))
        }
        return DER.encode(DER.sequence, elements)
    }

    /// The reason why a request is refused; nil when the certificate is good for it.
    func refusal(of request: ReceivedRequest, environment: String) -> APNsRefusal? {
        guard environments.isEmpty || environments.contains(environment) else { return .badCertificateEnvironment }
        guard let topic = request.header("apns-topic"), !topic.isEmpty else {
            return topics.count > 1 ? .missingTopic : nil
        }
        return topics.contains(topic) ? nil : .topicDisallowed
    }
}
