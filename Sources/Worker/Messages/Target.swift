import Encoding

/// What one group of pushes of a message has in common: where they go, and all of the request but the device.
///
/// Immutable; made by ``Plan``. Equal targets of a message are one.
package struct Target: Equatable, Sendable {
    package let gateway: Gateway
    /// Nil for FCM.
    package let environment: APNsEnvironment?
    /// The APNs topic as written, by which devices are looked up; of the legacy form the default topic, if any.
    package let topic: String?
    /// The devices are those registered without a topic.
    package let isLegacyForm: Bool
    /// The headers and what else APNs wants; nil for FCM.
    package let apns: APNsRequest?
    /// For APNs the whole body; for FCM what stands before the token, see ``fcmBody(token:)``.
    package let body: [UInt8]
    /// Tokens that get no push, as they are sent: for APNs in lower case.
    package internal(set) var exclusions: Set<[UInt8]>
    /// Until when pushes may be sent, in unix milliseconds of Redis' clock: from then on they are expired.
    package let deadline: Int64
    /// `pn_ttl` 0: one attempt, and no retry.
    package let isSingleAttempt: Bool
    /// Why nothing can be sent; the devices are counted nevertheless.
    package let failure: TargetFailure?

    /// One line for people: gateway, environment and topic.
    package var label: String {
        guard gateway == .apns else { return gateway.rawValue }
        return [gateway.rawValue, environment?.rawValue, topic.map(Printable.value)].compactMap(\.self).joined(
            separator: " "
        )
    }

    package var authMethod: APNsAuthMethod { apns?.authMethod ?? .token }
    /// The worker added the suffix that the push type needs, so that the provider speaks of another topic than the
    /// publisher.
    package var isSuffixAdded: Bool { apns?.isSuffixAdded ?? false }

    /// The APNs headers that all pushes of the target share, lower-case names.
    package var apnsHeaders: [(name: String, value: [UInt8])] { apns?.headers ?? [] }

    /// The body of an FCM request to one device.
    package func fcmBody(token: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + token.count + 4)
        bytes.append(contentsOf: body)
        JSONWriter.appendText(token.span, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}

/// Why nothing of a target can be sent.
package struct TargetFailure: Equatable, Sendable {
    /// The provider's word for it.
    package let reason: String
    /// A sentence: what was wrong, and how to mend it.
    package let text: String
}

/// How a push authenticates to APNs.
package enum APNsAuthMethod: String, Hashable, Sendable {
    case token
    case certificate
}

/// What an APNs request has besides its body, device, id and credential.
package struct APNsRequest: Equatable, Sendable {
    /// `apns-topic`: the topic with the suffix that the push type needs.
    package let topic: String
    package let isSuffixAdded: Bool
    package let pushType: PushType
    package let priority: Int
    /// Unix seconds; nil: no header, 0: one attempt by Apple, not stored.
    package let expiration: Int64?
    package let collapseID: [UInt8]?
    package let authMethod: APNsAuthMethod

    /// In the order of Apple's page.
    package var headers: [(name: String, value: [UInt8])] {
        var headers: [(name: String, value: [UInt8])] = [
            ("apns-topic", Array(topic.utf8)),
            ("apns-push-type", Array(pushType.name.utf8)),
            ("apns-priority", Array(String(priority).utf8)),
        ]
        if let expiration { headers.append(("apns-expiration", Array(String(expiration).utf8))) }
        if let collapseID { headers.append(("apns-collapse-id", collapseID)) }
        return headers
    }
}
