/// A reason in APNs' answers (Apple: Handling notification responses from APNs); any other is kept as it came.
package struct APNsReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    package static let badCertificate = APNsReason("BadCertificate")
    package static let badCertificateEnvironment = APNsReason("BadCertificateEnvironment")
    package static let badCollapseID = APNsReason("BadCollapseId")
    package static let badDeviceToken = APNsReason("BadDeviceToken")
    package static let badEnvironmentKeyIDInToken = APNsReason("BadEnvironmentKeyIdInToken")
    /// What APNs really says; Apple's page has ``badEnvironmentKeyIDInToken``.
    package static let badEnvironmentKeyInToken = APNsReason("BadEnvironmentKeyInToken")
    package static let badExpirationDate = APNsReason("BadExpirationDate")
    package static let badMessageID = APNsReason("BadMessageId")
    package static let badPath = APNsReason("BadPath")
    package static let badPriority = APNsReason("BadPriority")
    package static let badTopic = APNsReason("BadTopic")
    package static let deviceTokenNotForTopic = APNsReason("DeviceTokenNotForTopic")
    package static let duplicateHeaders = APNsReason("DuplicateHeaders")
    package static let expiredProviderToken = APNsReason("ExpiredProviderToken")
    package static let expiredToken = APNsReason("ExpiredToken")
    package static let forbidden = APNsReason("Forbidden")
    package static let idleTimeout = APNsReason("IdleTimeout")
    package static let internalServerError = APNsReason("InternalServerError")
    package static let invalidProviderToken = APNsReason("InvalidProviderToken")
    package static let invalidPushType = APNsReason("InvalidPushType")
    package static let methodNotAllowed = APNsReason("MethodNotAllowed")
    package static let missingDeviceToken = APNsReason("MissingDeviceToken")
    package static let missingProviderToken = APNsReason("MissingProviderToken")
    package static let missingTopic = APNsReason("MissingTopic")
    package static let payloadEmpty = APNsReason("PayloadEmpty")
    package static let payloadTooLarge = APNsReason("PayloadTooLarge")
    package static let serviceUnavailable = APNsReason("ServiceUnavailable")
    package static let shutdown = APNsReason("Shutdown")
    package static let tooManyProviderTokenUpdates = APNsReason("TooManyProviderTokenUpdates")
    package static let tooManyRequests = APNsReason("TooManyRequests")
    package static let topicDisallowed = APNsReason("TopicDisallowed")
    package static let unregistered = APNsReason("Unregistered")
    package static let unrelatedKeyIDInToken = APNsReason("UnrelatedKeyIdInToken")
}
