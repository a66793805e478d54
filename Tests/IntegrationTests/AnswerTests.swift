import Encoding
import TestSupport
import Testing
import Transport
import Worker

/// Each answer of reference pages, from the simulator to outcome, registration, credential, connection, waits, traces.
@Suite("Each answer of a provider, from end to end", .serialized, .timeLimit(.minutes(5)))
struct AnswerTests {
    private static let apns: [AnswerRow] =
        [
            // Doubtful ones come first, while too few answers are known for the brake, and again at the end.
            "BadDeviceToken", "DeviceTokenNotForTopic", "BadCollapseId", "BadExpirationDate", "BadMessageId",
            "BadPriority", "BadTopic", "DuplicateHeaders",
            "InvalidPushType", "MissingDeviceToken", "MissingTopic", "PayloadEmpty", "BrandNewReason",
        ].map { AnswerRow(status: 400, word: $0) } + [
            AnswerRow(status: 400, word: "TopicDisallowed", ending: .sent, isReplaced: true),
            AnswerRow(status: 400, word: "TopicDisallowed", times: 2),
            AnswerRow(status: 400, word: "IdleTimeout", ending: .sent, isReplaced: true, waits: [50]),
            AnswerRow(status: 403, word: "UnrelatedKeyIdInToken", ending: .sent, isReplaced: true),
            AnswerRow(status: 403, word: "UnrelatedKeyIdInToken", times: 2, isRefused: true),
            AnswerRow(status: 403, word: "Forbidden"),
            AnswerRow(status: 403, word: "BrandNewReason"),
        ]
        + [
            "InvalidProviderToken", "MissingProviderToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
            "BadCertificate", "BadCertificateEnvironment",
        ].map { AnswerRow(status: 403, word: $0, isRefused: true) } + [
            AnswerRow(status: 404, word: "BadPath"),
            AnswerRow(status: 405, word: "MethodNotAllowed"),
            AnswerRow(status: 410, word: "Unregistered", ending: .removed),
            AnswerRow(status: 410, word: "ExpiredToken", ending: .removed),
            AnswerRow(status: 410, word: "Unregistered", registered: 4_000_000_000_000),
            AnswerRow(status: 410, word: "BrandNewReason"),
            AnswerRow(status: 410, word: "HTTP 410", body: ""),
            AnswerRow(status: 410, word: "HTTP 410", body: #"{"reason":"Unregistered","timest"#),
            AnswerRow(status: 413, word: "PayloadTooLarge"),
            AnswerRow(status: 429, word: "TooManyRequests", times: 2, ending: .sent, waits: [1000, 2000]),
            AnswerRow(
                status: 429,
                word: "TooManyRequests",
                header: #","retry_after":"3""#,
                ending: .sent,
                waits: [3000]
            ),
            AnswerRow(
                status: 429,
                word: "TooManyProviderTokenUpdates",
                ending: .sent,
                isReplaced: true,
                waits: [1000]
            ),
            AnswerRow(
                status: 500,
                word: "InternalServerError",
                times: 3,
                ending: .sent,
                waits: [1000, 900_000, 900_000]
            ),
            AnswerRow(status: 503, word: "ServiceUnavailable", times: 2, ending: .sent, waits: [1000, 900_000]),
            AnswerRow(status: 503, word: "Shutdown", ending: .sent, isReplaced: true, waits: [1000]),
            AnswerRow(status: 502, word: "HTTP 502", body: "<html>Bad Gateway</html>", ending: .sent, waits: [1000]),
            AnswerRow(status: 400, word: "HTTP 400", body: String(repeating: "x", count: 100_000)),
            AnswerRow(status: 400, word: "BadDeviceToken", ending: .removed),
            AnswerRow(status: 400, word: "DeviceTokenNotForTopic", ending: .removed),
        ]

    private static let fcm: [AnswerRow] = [
        AnswerRow(status: 404, word: "UNREGISTERED", ending: .removed),
        AnswerRow(status: 400, word: "INVALID_ARGUMENT", ending: .removed),
        AnswerRow(
            status: 400,
            word: "INVALID_ARGUMENT",
            body: fcmBody("INVALID_ARGUMENT", #"{"@type":"google.rpc.BadRequest","fieldViolations":[{"field":"x"}]}"#)
        ),
        AnswerRow(status: 403, word: "SENDER_ID_MISMATCH"),
        AnswerRow(status: 401, word: "THIRD_PARTY_AUTH_ERROR"),
        AnswerRow(status: 401, word: "UNAUTHENTICATED", body: fcmBody("UNAUTHENTICATED"), ending: .sent),
        AnswerRow(status: 401, word: "UNAUTHENTICATED", body: fcmBody("UNAUTHENTICATED"), times: 2, isRefused: true),
        AnswerRow(status: 403, word: "PERMISSION_DENIED", body: fcmBody("PERMISSION_DENIED"), isRefused: true),
        AnswerRow(status: 404, word: "NOT_FOUND", body: fcmBody("NOT_FOUND")),
        AnswerRow(status: 404, word: "HTTP 404", body: "<html>not here</html>"),
        AnswerRow(status: 400, word: "HTTP 400", body: #"{"error":{"status":"INVALID_ARG"#),
        AnswerRow(status: 400, word: "BRAND_NEW", body: fcmBody("BRAND_NEW")),
        AnswerRow(status: 500, word: "INTERNAL", times: 2, ending: .sent, waits: [10_000, 20_000]),
        AnswerRow(status: 503, word: "UNAVAILABLE", times: 3, ending: .sent, waits: [10_000, 20_000, 40_000]),
        AnswerRow(
            status: 503,
            word: "UNAVAILABLE",
            header: #","retry_after":"30""#,
            ending: .sent,
            waits: [30_000]
        ),
        AnswerRow(status: 503, word: "HTTP 503", body: "<html>503</html>", ending: .sent, waits: [10_000]),
        AnswerRow(status: 429, word: "QUOTA_EXCEEDED", ending: .waiting, waits: [60_000]),
        AnswerRow(status: 429, word: "QUOTA_EXCEEDED", body: quotaBody("device:1"), ending: .waiting, waits: [60_000]),
        AnswerRow(status: 429, word: "QUOTA_EXCEEDED", header: #","retry_after":"2""#, ending: .sent, waits: [2000]),
    ]

    private static func fcmBody(_ status: String, _ detail: String = "") -> String {
        #"{"error":{"code":400,"message":"text","status":"\#(status)","details":[\#(detail)]}}"#
    }

    private static func quotaBody(_ subject: String) -> String {
        fcmBody(
            "RESOURCE_EXHAUSTED",
            #"{"@type":"google.firebase.fcm.v1.FcmError","errorCode":"QUOTA_EXCEEDED"},"#
                + #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)"}]}"#
        )
    }

    @Test("APNs")
    func apns() async throws {
        let scene = try await AnswerScene()
        try await prove(scene, .apns)
        for (number, row) in Self.apns.enumerated() { try await serve(row, number: number, .apns, scene) }
        try await scene.close()
    }

    @Test("FCM; at last a project that sends too much: all its pushes wait")
    func fcm() async throws {
        let scene = try await AnswerScene()
        try await prove(scene, .fcm)
        for (number, row) in Self.fcm.enumerated() { try await serve(row, number: number, .fcm, scene) }
        let project = AnswerRow(
            status: 429,
            word: "QUOTA_EXCEEDED",
            body: Self.quotaBody("project:simulated"),
            ending: .waiting,
            waits: [60_000]
        )
        try await serve(project, number: 99, .fcm, scene)
        try await scene.setScript("[]")
        try await scene.register("other", .fcm, on: "other")
        let waits = try await scene.traces("retry", of: scene.publish(.fcm, on: "other"))
        #expect(waits.first?["reason"]?.string == "QUOTA_EXCEEDED")
        #expect((50_000...60_000).contains(waits.first?["after_ms"]?.integer ?? 0))
        #expect(try await scene.notices().contains { $0.contains("gets too much (QUOTA_EXCEEDED)") })
        try await scene.close()
    }

    @Test("An expired provider token is renewed once if it may be, and never within 20 minutes")
    func expired() async throws {
        let scene = try await AnswerScene()
        try await prove(scene, .apns)
        let now = currentUnixMilliseconds() / 1000
        let mayRenew = now - APNsProviderToken.issueTime(seconds: now) >= 20 * 60
        var row = AnswerRow(status: 403, word: "ExpiredProviderToken")
        if mayRenew {
            row.ending = .sent
            row.isReplaced = true
        } else {
            row.isRefused = true
        }
        try await serve(row, number: 1, .apns, scene)
        try await scene.close()
    }

    @Test("A refused credential is stopped after ten refusals, and then only probed")
    func stopped() async throws {
        let scene = try await AnswerScene()
        try await prove(scene, .apns)
        try await scene.setScript(#"[{"status":403,"reason":"InvalidProviderToken"}]"#)
        for number in 0..<60 { try await scene.register(Self.token(number, "aa"), .apns, on: "many") }
        let end = try await scene.traces("completed", of: scene.publish(.apns, on: "many"))
        #expect(end.first?["errored"]?.integer == 60)
        // What was on its way when the tenth refusal came is answered too; what comes later is not sent.
        let later = try await scene.publish(.apns, on: "many")
        #expect(try await scene.traces("completed", of: later).first?["errored"]?.integer == 60)
        let errors = try await scene.traces("error", of: later, count: 60)
        #expect(errors.count { $0["status"] != nil } <= 1)
        #expect(errors.allSatisfy { $0["reason"]?.string == "InvalidProviderToken" })
        #expect(scene.hasLogged("the provider refuses the credential"))
        try await scene.close()
    }

    // MARK: One row

    private static func token(_ number: Int, _ prefix: String) -> String {
        let digits = String(number, radix: 16)
        return prefix + String(repeating: "0", count: 62 - digits.count) + digits
    }

    /// Sends one push that is accepted, so that the connection stands and the credential is known to be good.
    private func prove(_ scene: AnswerScene, _ gateway: Gateway) async throws {
        let token = gateway == .fcm ? "good:token" : Self.token(0, "ff")
        try await scene.register(token, gateway, on: "good")
        let end = try await scene.traces("completed", of: scene.publish(gateway, on: "good"))
        #expect(end.first?["sent"]?.integer == 1)
    }

    private func serve(_ row: AnswerRow, number: Int, _ gateway: Gateway, _ scene: AnswerScene) async throws {
        let comment = Comment(rawValue: "\(row.status) \(row.word) × \(row.times), row \(number)")
        let token = gateway == .fcm ? "device:\(number)" : Self.token(number, "ab")
        let channel = "row.\(number)"
        try await scene.register(token, gateway, on: channel, at: row.registered)
        try await scene.setScript("[\(row.script)]")
        let connections = scene.connections(gateway)
        let id = try await scene.publish(gateway, on: channel)
        for (index, wait) in row.waits.enumerated() {
            let trace = try await scene.traces("retry", of: id, count: index + 1, withStatus: true)[index]
            #expect(trace["after_ms"]?.integer == wait, comment)
            #expect(trace["status"]?.integer == Int64(row.status), comment)
            #expect(trace["reason"]?.string == row.word, comment)
            #expect(trace["attempt"]?.integer == Int64(index + 1), comment)
            if wait >= 1000, row.ending != .waiting { try await scene.letWaitsEnd() }
        }
        guard row.ending != .waiting else { return }
        let end = try await scene.traces("completed", of: id)
        #expect(end.first?[StaticNames.of(row.ending)]?.integer == 1, comment)
        if row.ending != .sent {
            let trace = try await scene.traces(row.ending == .removed ? "removed" : "error", of: id).first
            #expect(trace?["status"]?.integer == Int64(row.status), comment)
            #expect(trace?["reason"]?.string == row.word, comment)
        }
        let isRegistered = try await scene.isRegistered(token, gateway, on: channel)
        #expect(isRegistered == (row.ending != .removed), comment)
        let notices = try await scene.notices()
        #expect(notices.contains { $0.contains("refuses the credential (\(row.word))") } == row.isRefused, comment)
        try await scene.setScript("[]")
        try await prove(scene, gateway)
        #expect(scene.connections(gateway) - connections == (row.isReplaced ? 1 : 0), comment)
        let left = try await scene.notices()
        #expect(!left.contains { $0.contains("refuses the credential") }, comment)
    }
}

/// Names of counts in `completed`.
private enum StaticNames {
    static func of(_ ending: AnswerRow.Ending) -> StaticString {
        switch ending {
        case .sent, .waiting: "sent"
        case .removed: "removed"
        case .errored: "errored"
        }
    }
}
