import Encoding

/// Checks an APNs request as Apple does, and answers in Apple's words.
///
/// A pure function of the request, the time and what the connection has seen before.
package struct APNsCheck: Sendable {
    private let tokens: APNsTokenCheck

    package init(tokens: APNsTokenCheck) {
        self.tokens = tokens
    }

    /// The reason why a request is refused; nil when it is accepted.
    ///
    /// `now` is in unix seconds. A connection with a certificate needs no token, and none is looked at.
    package func refusal(
        of request: ReceivedRequest,
        now: Int64,
        environment: String = "production",
        certificate: APNsCertificateCheck? = nil,
        memory: inout APNsTokenCheck.Memory
    ) -> APNsRefusal? {
        if let refusal = Self.target(request) { return refusal }
        if let certificate {
            if let refusal = certificate.refusal(of: request, environment: environment) { return refusal }
        } else if let refusal = tokens.refusal(
            ofAuthorization: request.header("authorization"),
            now: now,
            environment: environment,
            memory: &memory
        ) {
            return refusal
        }
        return Self.headers(request, isTopicNeeded: certificate == nil)
    }

    private static func target(_ request: ReceivedRequest) -> APNsRefusal? {
        guard request.method == "POST" else { return .methodNotAllowed }
        let prefix = "/3/device/"
        guard request.path == "/3/device" || request.path.hasPrefix(prefix) else { return .badPath }
        let token = request.path.dropFirst(prefix.count)
        guard !token.isEmpty else { return .missingDeviceToken }
        guard token.utf8.count % 2 == 0, token.utf8.allSatisfy(isHexadecimal) else { return .badDeviceToken }
        return nil
    }

    private static func headers(_ request: ReceivedRequest, isTopicNeeded: Bool) -> APNsRefusal? {
        let single = [
            "apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-id", "apns-collapse-id",
            "authorization",
        ]
        if single.contains(where: request.repeats) { return .duplicateHeaders }
        guard let type = APNsPushType.named(request.header("apns-push-type")) else { return .invalidPushType }
        if let topic = request.header("apns-topic"), !topic.isEmpty {
            guard topic.utf8.allSatisfy(isTopicByte) else { return .badTopic }
            guard topic.hasSuffix(type.topicSuffix), topic != type.topicSuffix else { return .topicDisallowed }
        } else if isTopicNeeded {
            return .missingTopic
        }
        if let priority = request.header("apns-priority") {
            guard type.priorities.contains(priority) else { return .badPriority }
        } else if type.name == "background" {
            return .badPriority
        }
        if let expiration = request.header("apns-expiration") {
            guard let seconds = Int64(expiration), seconds >= 0 else { return .badExpirationDate }
        }
        if let id = request.header("apns-id"), !isUUID(id) { return .badMessageID }
        if let id = request.header("apns-collapse-id"), !(1...64).contains(id.utf8.count) { return .badCollapseID }
        return payload(request.body, maximumBytes: type.maximumPayloadBytes)
    }

    private static func payload(_ body: [UInt8], maximumBytes: Int) -> APNsRefusal? {
        guard body.count <= maximumBytes else { return .payloadTooLarge }
        guard let document = try? JSONDocument(body), document.root.isObject else { return .payloadEmpty }
        return nil
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        case UInt8(ascii: "A")...UInt8(ascii: "F"): true
        default: false
        }
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// 8-4-4-4-12 hexadecimal digits (RFC 9562 section 4), lower case as Apple asks.
    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.utf8.allSatisfy(isHexadecimal) } && text == text.lowercased()
    }
}
