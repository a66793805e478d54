import Encoding

extension PlanBuilder {
    /// What FCM takes at most, in bytes of names and values of `data` (Firebase: About FCM messages).
    private static let maximumDataBytes = 4096

    /// Plans the target of `pn_fcm`, or without it of `pn_gcm`.
    mutating func planFCM(root: RootKeys) {
        let fcm = root.fcm.flatMap(Self.present)
        let gcm = root.gcm.flatMap(Self.present)
        guard let value = fcm ?? gcm else { return }
        let key = fcm == nil ? "pn_gcm" : "pn_fcm"
        guard value.isObject else { return refuse(value, of: key, .fcm, reason: "INVALID_ARGUMENT") }
        plan.gateways.append(.fcm)
        if fcm != nil, gcm != nil { notice("pn_gcm", "pn_gcm was left out, since there is pn_fcm") }
        let timeToLive = timeToLive(value["pn_ttl"], root: root.timeToLive)
        var exclusions: Set<[UInt8]> = []
        addExclusions(
            [("pn_exceptions", fcm?["pn_exceptions"]), ("pn_exceptions", gcm?["pn_exceptions"])],
            isCaseIgnored: false,
            to: &exclusions
        )
        let normalized = FCMNormalizer(
            value,
            isLegacyKey: fcm == nil,
            received: received / 1000,
            collectsNotices: collectsNotices
        )
        plan.notices += normalized.notices
        guard !normalized.message.isEmpty else {
            return notice(key, "\(key) holds nothing to send; nothing is sent to FCM")
        }
        add(normalized, exclusions, timeToLive)
    }

    private mutating func add(_ normalized: FCMNormalizer, _ exclusions: Set<[UInt8]>, _ timeToLive: TimeToLive?) {
        plan.targets.append(
            Target(
                gateway: .fcm,
                environment: nil,
                topic: nil,
                isLegacyForm: false,
                apns: nil,
                body: Self.body(normalized),
                exclusions: exclusions,
                deadline: deadline(timeToLive, expiration: nil),
                isSingleAttempt: timeToLive?.isSingleAttempt ?? false,
                failure: Self.failure(ofSize: normalized)
            )
        )
    }

    /// The request's bytes up to the token.
    private static func body(_ normalized: FCMNormalizer) -> [UInt8] {
        var body: [UInt8] = []
        body.append(
            contentsOf: (normalized.isValidatedOnly ? #"{"validate_only":true,"message":{"# : #"{"message":{"#).utf8
        )
        normalized.message.writeMembers(to: &body)
        body.append(contentsOf: #","token":"#.utf8)
        return body
    }

    /// Only what FCM refuses for certain: `data` alone too large, and no platform with a `data` of its own.
    private static func failure(ofSize normalized: FCMNormalizer) -> TargetFailure? {
        let hasOwnData = ["android", "webpush"].contains { normalized.message[$0]?.opened?["data"] != nil }
        guard normalized.dataBytes > maximumDataBytes, !hasOwnData else { return nil }
        return TargetFailure(
            reason: "INVALID_ARGUMENT",
            text: "data has \(normalized.dataBytes) bytes of names and values: FCM takes \(maximumDataBytes)"
        )
    }
}
