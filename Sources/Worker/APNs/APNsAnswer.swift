import Encoding

/// What APNs' answers mean: one table by status and reason, and the status alone for what is not in it.
///
/// Pure. From Apple's "Handling notification responses from APNs".
package enum APNsAnswer {
    /// The meaning of a reason, before what the answer itself adds.
    private enum Meaning {
        /// The token is dead since the answer's timestamp.
        case gone
        /// A dead token, or the other environment.
        case doubtful
        /// A token of another app, unless we made the topic ourselves.
        case doubtfulTopic
        case failed
        case credential(Verdict.CredentialAction)
        case retry(Verdict.RetryScope)
    }

    private static let table: [APNsReason: (status: Int, meaning: Meaning)] = [
        .badDeviceToken: (400, .doubtful),
        .deviceTokenNotForTopic: (400, .doubtfulTopic),
        .badCollapseID: (400, .failed),
        .badExpirationDate: (400, .failed),
        .badMessageID: (400, .failed),
        .badPriority: (400, .failed),
        .badTopic: (400, .failed),
        .duplicateHeaders: (400, .failed),
        .invalidPushType: (400, .failed),
        .missingDeviceToken: (400, .failed),
        .missingTopic: (400, .failed),
        .payloadEmpty: (400, .failed),
        .topicDisallowed: (400, .failed),
        .idleTimeout: (400, .retry(.connection)),
        .badCertificate: (403, .credential(.stop)),
        .badCertificateEnvironment: (403, .credential(.stop)),
        .badEnvironmentKeyIDInToken: (403, .credential(.stop)),
        .badEnvironmentKeyInToken: (403, .credential(.stop)),
        .expiredProviderToken: (403, .credential(.refreshToken)),
        .forbidden: (403, .credential(.stop)),
        .invalidProviderToken: (403, .credential(.stop)),
        .missingProviderToken: (403, .credential(.stop)),
        .unrelatedKeyIDInToken: (403, .retry(.connection)),
        .badPath: (404, .failed),
        .methodNotAllowed: (405, .failed),
        .expiredToken: (410, .gone),
        .unregistered: (410, .gone),
        .payloadTooLarge: (413, .failed),
        .tooManyProviderTokenUpdates: (429, .retry(.connection)),
        .tooManyRequests: (429, .retry(.device)),
        .internalServerError: (500, .retry(.push)),
        .serviceUnavailable: (503, .retry(.push)),
        .shutdown: (503, .retry(.connection)),
    ]

    /// The meaning of an answer.
    ///
    /// `body` may be anything: empty, HTML of a proxy, cut off. `retryAfter` and `date` are the headers of these names.
    /// With `suffixAdded` the topic on the wire is not the one as written.
    package static func verdict(
        status: Int,
        body: [UInt8],
        retryAfter: String? = nil,
        date: String? = nil,
        suffixAdded: Bool
    ) -> Verdict {
        if status == 200 { return .sent }
        let answer = read(body)
        let reason = ProviderAnswer.reason(answer.word, status: status)
        let known = table[APNsReason(rawValue: reason)].flatMap { $0.status == status ? $0.meaning : nil }
        switch known ?? meaning(ofStatus: status, hasTimestamp: answer.timestamp != nil, isEmpty: body.isEmpty) {
        case .gone: return .removeDevice(reason: reason, deadSince: answer.timestamp)
        case .doubtful: return .doubtful(reason: reason)
        case .doubtfulTopic: return suffixAdded ? .failed(reason: reason) : .doubtful(reason: reason)
        case .failed: return .failed(reason: reason)
        case .credential(let action): return .credential(reason: reason, action: action)
        case .retry(let scope):
            return .retry(reason: reason, after: RetryAfter.delay(retryAfter, date: date), scope: scope)
        }
    }

    /// The meaning of a reason that is not in the table, or stands under another status than documented.
    ///
    /// A 410 counts when APNs itself can be seen in it: no body at all, or its timestamp.
    private static func meaning(ofStatus status: Int, hasTimestamp: Bool, isEmpty: Bool) -> Meaning {
        switch status {
        case 401: .credential(.stop)
        case 408: .retry(.push)
        case 410: hasTimestamp || isEmpty ? .gone : .failed
        case 429: .retry(.device)
        case 500...599: .retry(.push)
        default: .failed
        }
    }

    /// The reason, and the moment since which a token is dead, in unix milliseconds.
    private static func read(_ body: [UInt8]) -> (word: String?, timestamp: Int64?) {
        guard !body.isEmpty, body.count <= ProviderAnswer.maximumBodyBytes, let document = try? JSONDocument(body)
        else {
            return (nil, nil)
        }
        let timestamp = document.root["timestamp"]
        let milliseconds = timestamp?.integer ?? timestamp?.double.flatMap { Int64(exactly: $0.rounded()) }
        return (document.root["reason"]?.string, milliseconds.flatMap { $0 > 0 ? $0 : nil })
    }
}
