extension APNsReason {
    /// THE table of APNs' answers.
    ///
    /// Apple: Handling notification responses from APNs; what it leaves to the provider server is ours.
    package static let table: [AnswerRow] = requestRows + credentialRows + otherRows

    /// The table by reason.
    static let rows = Dictionary(table.map { (APNsReason(rawValue: $0.word), $0) }) { first, _ in first }

    private static let requestRows: [AnswerRow] = [
        row(
            400,
            .badDeviceToken,
            .doubtful,
            "the token is none, or belongs to the other environment: development tokens come from builds that Xcode "
                + "installed, production tokens from TestFlight and the App Store"
        ),
        row(
            400,
            .deviceTokenNotForTopic,
            .doubtfulTopic,
            "the token belongs to another app: register it with the bundle ID of the app that it came from"
        ),
        row(
            400,
            .badTopic,
            .failed(.configuration),
            "the topic is none: write the app's bundle ID, as com.example.app"
        ),
        row(
            400,
            .topicDisallowed,
            .reconnect(.fail),
            "the credential may not push to this topic: check the bundle ID, that the key's team owns the app, and which "
                + "topics the key is restricted to"
        ),
        row(
            400,
            .missingTopic,
            .failed(.configuration),
            "the certificate covers several topics, or a key is used: name the topic in the message's targets"
        ),
        row(
            400,
            .badCollapseID,
            .failed(.push),
            "the collapse id is longer than 64 bytes: shorten it"
        ),
        row(
            400,
            .badExpirationDate,
            .failed(.push),
            "the expiration is no time that APNs knows: write ISO 8601 or epoch seconds"
        ),
        row(
            400,
            .badMessageID,
            .failed(.request),
            "the apns-id is no UUID: please report this as a defect of pushbridge"
        ),
        row(
            400,
            .badPriority,
            .failed(.push),
            "the priority does not fit the push type: background pushes must have 5, others may have 10, 5 or 1"
        ),
        row(
            400,
            .invalidPushType,
            .failed(.push),
            "the push type is none of Apple's, or does not fit the topic: see the list in README.md"
        ),
        row(400, .duplicateHeaders, .failed(.request), "a header was sent twice: please report this as a defect"),
        row(400, .payloadEmpty, .failed(.push), "the payload is empty: give it an aps object"),
        row(400, .missingDeviceToken, .failed(.request), "the request named no device: please report this as a defect"),
        row(
            400,
            .idleTimeout,
            .retry(.connection),
            "nothing: the connection was silent for too long, a new one is used"
        ),
    ]

    private static let credentialRows: [AnswerRow] = [
        row(
            403,
            .expiredProviderToken,
            .credential(.refreshToken),
            "if it comes again, set this machine's clock (NTP): provider tokens may be an hour old at most"
        ),
        row(
            403,
            .invalidProviderToken,
            .credential(.stop),
            "check that key, key ID and team ID belong together, that the key was not revoked, and this machine's clock"
        ),
        row(403, .missingProviderToken, .credential(.stop), "set an APNs key (PUSHBRIDGE_APNS_KEY), or a certificate"),
        row(
            403,
            .unrelatedKeyIDInToken,
            .reconnect(.stopCredential),
            "the key may not share a connection with the one before it; if it comes again, check key ID and team ID"
        ),
        row(
            403,
            .badEnvironmentKeyIDInToken,
            .credential(.stop),
            "the key is bound to the other environment: use a key for this one, or one that is good for both"
        ),
        row(
            403,
            .badEnvironmentKeyInToken,
            .credential(.stop),
            "the key is bound to the other environment: use a key for this one, or one that is good for both"
        ),
        row(
            403,
            .badCertificate,
            .credential(.stop),
            "the certificate has expired, was revoked, or is none for push: make a new one at Apple"
        ),
        row(
            403,
            .badCertificateEnvironment,
            .credential(.stop),
            "the certificate is for the other environment: use one for this environment, or one for both"
        ),
        row(
            403,
            .forbidden,
            .failed(.configuration),
            "Apple does not allow this: check the team's membership, and what the key may do"
        ),
    ]

    private static let otherRows: [AnswerRow] = [
        row(404, .badPath, .failed(.request), "the path of the request is wrong: please report this as a defect"),
        row(
            405,
            .methodNotAllowed,
            .failed(.request),
            "the request was no POST: look for a proxy that changes requests"
        ),
        row(410, .unregistered, .gone, "nothing: the app was removed from the device, or its pushes were turned off"),
        row(
            410,
            .expiredToken,
            .gone,
            "nothing: the device has a newer token, which the app registers at its next start"
        ),
        row(
            413,
            .payloadTooLarge,
            .failed(.push),
            "the payload is too large: 4096 bytes at most, 5120 for voip; leave out what the app can fetch itself"
        ),
        row(
            429,
            .tooManyRequests,
            .retry(.device),
            "send less often to one device, or collapse pushes with a collapse id"
        ),
        row(
            429,
            .tooManyProviderTokenUpdates,
            .retry(.connection),
            "let all programs that use this key share one provider token, or give each a key of its own"
        ),
        row(500, .internalServerError, .retry(.push), "nothing: APNs has a fault of its own"),
        row(503, .serviceUnavailable, .retry(.push), "nothing: APNs is not available at the moment"),
        row(503, .shutdown, .retry(.connection), "nothing: that server of APNs is going away, another one is used"),
    ]

    private static func row(
        _ status: Int,
        _ reason: APNsReason,
        _ meaning: AnswerMeaning,
        _ advice: String
    ) -> AnswerRow {
        AnswerRow(status, reason.rawValue, meaning, advice)
    }
}
