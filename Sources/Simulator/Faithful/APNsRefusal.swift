/// Why APNs refuses a request: Apple's reason and the status it comes with (Apple: Handling notification responses from
/// APNs).
package struct APNsRefusal: Equatable, Sendable {
    package let status: Int
    package let reason: String
    /// Unix milliseconds; only with 410.
    package let timestamp: Int64?

    package init(_ status: Int, _ reason: String, timestamp: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
    }

    /// The answer's JSON.
    package var body: [UInt8] {
        let time = timestamp.map { ",\"timestamp\":\($0)" } ?? ""
        return Array("{\"reason\":\"\(reason)\"\(time)}".utf8)
    }

    static let badPath = APNsRefusal(404, "BadPath")
    static let methodNotAllowed = APNsRefusal(405, "MethodNotAllowed")
    static let missingDeviceToken = APNsRefusal(400, "MissingDeviceToken")
    static let badDeviceToken = APNsRefusal(400, "BadDeviceToken")
    static let duplicateHeaders = APNsRefusal(400, "DuplicateHeaders")
    static let missingProviderToken = APNsRefusal(403, "MissingProviderToken")
    static let invalidProviderToken = APNsRefusal(403, "InvalidProviderToken")
    static let expiredProviderToken = APNsRefusal(403, "ExpiredProviderToken")
    static let unrelatedKeyIDInToken = APNsRefusal(403, "UnrelatedKeyIdInToken")
    /// As it is on the wire; Apple's page has another spelling.
    static let badEnvironmentKeyInToken = APNsRefusal(403, "BadEnvironmentKeyInToken")
    static let badCertificateEnvironment = APNsRefusal(403, "BadCertificateEnvironment")
    static let tooManyProviderTokenUpdates = APNsRefusal(429, "TooManyProviderTokenUpdates")
    static let missingTopic = APNsRefusal(400, "MissingTopic")
    static let badTopic = APNsRefusal(400, "BadTopic")
    static let topicDisallowed = APNsRefusal(400, "TopicDisallowed")
    static let invalidPushType = APNsRefusal(400, "InvalidPushType")
    static let badPriority = APNsRefusal(400, "BadPriority")
    static let badExpirationDate = APNsRefusal(400, "BadExpirationDate")
    static let badMessageID = APNsRefusal(400, "BadMessageId")
    static let badCollapseID = APNsRefusal(400, "BadCollapseId")
    static let payloadEmpty = APNsRefusal(400, "PayloadEmpty")
    static let payloadTooLarge = APNsRefusal(413, "PayloadTooLarge")
}
