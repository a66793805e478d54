import Testing
import Worker

@Suite struct APNsAnswerTests {
    private func verdict(
        _ status: Int,
        _ body: String,
        retryAfter: String? = nil,
        suffixAdded: Bool = false
    ) -> Verdict {
        APNsAnswer.verdict(
            status: status,
            body: Array(body.utf8),
            retryAfter: retryAfter,
            suffixAdded: suffixAdded
        )
    }

    @Test(
        "Every documented reason has its meaning",
        arguments: [
            (400, "BadCollapseId", .failed(reason: "BadCollapseId")),
            (400, "BadDeviceToken", .doubtful(reason: "BadDeviceToken")),
            (400, "BadExpirationDate", .failed(reason: "BadExpirationDate")),
            (400, "BadMessageId", .failed(reason: "BadMessageId", fault: .request)),
            (400, "BadPriority", .failed(reason: "BadPriority")),
            (400, "BadTopic", .failed(reason: "BadTopic", fault: .configuration)),
            (400, "DeviceTokenNotForTopic", .doubtful(reason: "DeviceTokenNotForTopic")),
            (400, "DuplicateHeaders", .failed(reason: "DuplicateHeaders", fault: .request)),
            (400, "IdleTimeout", .retry(reason: "IdleTimeout", after: nil, scope: .connection)),
            (400, "InvalidPushType", .failed(reason: "InvalidPushType")),
            (400, "MissingDeviceToken", .failed(reason: "MissingDeviceToken", fault: .request)),
            (400, "MissingTopic", .failed(reason: "MissingTopic", fault: .configuration)),
            (400, "PayloadEmpty", .failed(reason: "PayloadEmpty")),
            (400, "TopicDisallowed", .reconnect(reason: "TopicDisallowed", otherwise: .fail)),
            (403, "BadCertificate", .credential(reason: "BadCertificate", action: .stop)),
            (403, "BadCertificateEnvironment", .credential(reason: "BadCertificateEnvironment", action: .stop)),
            (403, "BadEnvironmentKeyIdInToken", .credential(reason: "BadEnvironmentKeyIdInToken", action: .stop)),
            (403, "BadEnvironmentKeyInToken", .credential(reason: "BadEnvironmentKeyInToken", action: .stop)),
            (403, "ExpiredProviderToken", .credential(reason: "ExpiredProviderToken", action: .refreshToken)),
            (403, "Forbidden", .failed(reason: "Forbidden", fault: .configuration)),
            (403, "InvalidProviderToken", .credential(reason: "InvalidProviderToken", action: .stop)),
            (403, "MissingProviderToken", .credential(reason: "MissingProviderToken", action: .stop)),
            (403, "UnrelatedKeyIdInToken", .reconnect(reason: "UnrelatedKeyIdInToken", otherwise: .stopCredential)),
            (404, "BadPath", .failed(reason: "BadPath", fault: .request)),
            (405, "MethodNotAllowed", .failed(reason: "MethodNotAllowed", fault: .request)),
            (410, "ExpiredToken", .removeDevice(reason: "ExpiredToken", deadSince: nil)),
            (410, "Unregistered", .removeDevice(reason: "Unregistered", deadSince: nil)),
            (413, "PayloadTooLarge", .failed(reason: "PayloadTooLarge")),
            (
                429, "TooManyProviderTokenUpdates",
                .retry(reason: "TooManyProviderTokenUpdates", after: nil, scope: .connection)
            ),
            (429, "TooManyRequests", .retry(reason: "TooManyRequests", after: nil, scope: .device)),
            (500, "InternalServerError", .retry(reason: "InternalServerError", after: nil, scope: .push)),
            (503, "ServiceUnavailable", .retry(reason: "ServiceUnavailable", after: nil, scope: .push)),
            (503, "Shutdown", .retry(reason: "Shutdown", after: nil, scope: .connection)),
        ] as [(Int, String, Verdict)]
    )
    func documented(status: Int, reason: String, meaning: Verdict) {
        #expect(verdict(status, #"{"reason":"\#(reason)"}"#) == meaning)
    }

    @Test(
        "What is not documented never removes a registration",
        arguments: [
            (400, #"{"reason":"BrandNewReason"}"#, .failed(reason: "BrandNewReason")),
            (400, "", .failed(reason: "HTTP 400")),
            (400, "<html><body>Bad Request</body></html>", .failed(reason: "HTTP 400")),
            (400, #"{"reason":"BadDeviceTok"#, .failed(reason: "HTTP 400")),
            (400, #"{"reason":"BadDeviceToken"} trailing"#, .failed(reason: "HTTP 400")),
            (400, #"{"reason":17}"#, .failed(reason: "HTTP 400")),
            (400, #"{"reason":"two words"}"#, .failed(reason: "HTTP 400")),
            (400, #"["BadDeviceToken"]"#, .failed(reason: "HTTP 400")),
            (400, #"{"reason":"Unregistered","timestamp":1764500000000}"#, .failed(reason: "Unregistered")),
            (403, #"{"reason":"BadDeviceToken"}"#, .failed(reason: "BadDeviceToken", fault: .configuration)),
            (403, "", .failed(reason: "HTTP 403", fault: .configuration)),
            (401, "", .credential(reason: "HTTP 401", action: .stop)),
            (404, "<html>", .failed(reason: "HTTP 404")),
            (410, "<html>Gone</html>", .failed(reason: "HTTP 410")),
            (410, #"{"reason":"NewGone"}"#, .failed(reason: "NewGone")),
            (410, #"{"reason":"NewGone","timestamp":1764500000123}"#, .failed(reason: "NewGone")),
            (410, #"{"timestamp":1764500000123}"#, .failed(reason: "HTTP 410")),
            (410, #"{"reason":"Unregistered","timest"#, .failed(reason: "HTTP 410")),
            (410, "", .failed(reason: "HTTP 410")),
            (403, #"{"reason":"BadTopic"}"#, .failed(reason: "BadTopic", fault: .configuration)),
            (
                401, #"{"reason":"ExpiredProviderToken"}"#,
                .credential(reason: "ExpiredProviderToken", action: .refreshToken)
            ),
            (203, #"{"reason":"Unregistered"}"#, .failed(reason: "Unregistered")),
            (418, "", .failed(reason: "HTTP 418")),
            (301, "", .failed(reason: "HTTP 301")),
            (204, "", .failed(reason: "HTTP 204")),
            (0, "", .failed(reason: "HTTP 0")),
            (408, "", .retry(reason: "HTTP 408", after: nil, scope: .push)),
            (429, "", .retry(reason: "HTTP 429", after: nil, scope: .device)),
            (500, "", .retry(reason: "HTTP 500", after: nil, scope: .push)),
            (502, "<html>Bad Gateway</html>", .retry(reason: "HTTP 502", after: nil, scope: .push)),
            (503, #"{"reason":"BrandNew"}"#, .retry(reason: "BrandNew", after: nil, scope: .push)),
            (503, #"{"reason":"Unregistered"}"#, .retry(reason: "Unregistered", after: nil, scope: .push)),
            (400, String(repeating: "x", count: 100_000), .failed(reason: "HTTP 400")),
            (400, String(repeating: "[", count: 10_000), .failed(reason: "HTTP 400")),
            (
                400, #"{"reason":"\#(String(repeating: "R", count: 5000))"}"#, .failed(reason: "HTTP 400")
            ),
        ] as [(Int, String, Verdict)]
    )
    func undocumented(status: Int, body: String, meaning: Verdict) {
        #expect(verdict(status, body) == meaning)
    }

    @Test(
        "A 410 removes what was registered before its timestamp",
        arguments: [
            (#"{"reason":"Unregistered","timestamp":1764500000123}"#, "Unregistered", 1_764_500_000_123),
            (#"{"timestamp":1764500000123,"reason":"ExpiredToken"}"#, "ExpiredToken", 1_764_500_000_123),
            (#"{"reason":"Unregistered","timestamp":1.764500000123e12}"#, "Unregistered", 1_764_500_000_123),
            (#"{"reason":"Unregistered","timestamp":"soon"}"#, "Unregistered", nil),
            (#"{"reason":"Unregistered","timestamp":-5}"#, "Unregistered", nil),
            (#"{"reason":"Unregistered","timestamp":1e999}"#, "Unregistered", nil),
            (#"{"reason":"Unregistered","timestamp":99999999999999999999}"#, "Unregistered", nil),
            (#"{"reason":"Unregistered","timestamp":null}"#, "Unregistered", nil),
        ] as [(String, String, Int64?)]
    )
    func gone(body: String, reason: String, deadSince: Int64?) {
        #expect(verdict(410, body) == .removeDevice(reason: reason, deadSince: deadSince))
    }

    @Test("200 is accepted, whatever the body")
    func accepted() {
        #expect(verdict(200, "") == .sent)
        #expect(verdict(200, #"{"reason":"BadDeviceToken"}"#) == .sent)
    }

    @Test("A token for another topic is no sign of a dead device when the topic's suffix is ours")
    func addedSuffix() {
        let body = #"{"reason":"DeviceTokenNotForTopic"}"#
        #expect(verdict(400, body, suffixAdded: true) == .failed(reason: "DeviceTokenNotForTopic"))
        let bad = #"{"reason":"BadDeviceToken"}"#
        #expect(verdict(400, bad, suffixAdded: true) == .doubtful(reason: "BadDeviceToken"))
    }

    @Test("A wait that APNs asks for is kept")
    func retryAfter() {
        let asked = verdict(429, #"{"reason":"TooManyRequests"}"#, retryAfter: "30")
        #expect(asked == .retry(reason: "TooManyRequests", after: .seconds(30), scope: .device))
    }
}
