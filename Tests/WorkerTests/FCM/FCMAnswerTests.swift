import Testing
import Worker

@Suite struct FCMAnswerTests {
    private static func body(
        _ code: Int,
        _ status: String,
        errorCode: String? = nil,
        message: String = "text",
        details: String = ""
    ) -> String {
        let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
        let error = errorCode.map { #"{"@type":"\#(type)","errorCode":"\#($0)"}"# }
        let all = [error, details.isEmpty ? nil : details].compactMap { $0 }.joined(separator: ",")
        return #"{"error":{"code":\#(code),"message":"\#(message)","status":"\#(status)","details":[\#(all)]}}"#
    }

    private static func violations(_ fields: String...) -> String {
        let list = fields.map { #"{"field":"\#($0)","description":"Invalid value"}"# }.joined(separator: ",")
        return #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(list)]}"#
    }

    private static func quota(_ subject: String) -> String {
        let violation = #"{"subject":"\#(subject)","description":"Quota exceeded."}"#
        return #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[\#(violation)]}"#
    }

    private static let invalidToken = "The registration token is not a valid FCM registration token"

    private func verdict(_ status: Int, _ body: String, retryAfter: String? = nil, date: String? = nil) -> Verdict {
        FCMAnswer.verdict(status: status, body: Array(body.utf8), retryAfter: retryAfter, date: date)
    }

    @Test(
        "Every documented error has its meaning",
        arguments: [
            (
                404, body(404, "NOT_FOUND", errorCode: "UNREGISTERED"),
                .removeDevice(reason: "UNREGISTERED", deadSince: nil)
            ),
            (
                400, body(400, "INVALID_ARGUMENT", errorCode: "INVALID_ARGUMENT", message: invalidToken),
                .removeDevice(reason: "INVALID_ARGUMENT", deadSince: nil)
            ),
            (
                400, body(400, "INVALID_ARGUMENT", details: violations("message.token")),
                .removeDevice(reason: "INVALID_ARGUMENT", deadSince: nil)
            ),
            (
                400, body(400, "INVALID_ARGUMENT", errorCode: "INVALID_ARGUMENT", details: violations("message.token")),
                .removeDevice(reason: "INVALID_ARGUMENT", deadSince: nil)
            ),
            (
                400, body(400, "INVALID_ARGUMENT", details: violations("message.data[0].value")),
                .failed(reason: "INVALID_ARGUMENT")
            ),
            (
                400, body(400, "INVALID_ARGUMENT", message: invalidToken, details: violations("message.android.ttl")),
                .failed(reason: "INVALID_ARGUMENT")
            ),
            (
                400, body(400, "INVALID_ARGUMENT", details: violations("message.token", "message.data")),
                .failed(reason: "INVALID_ARGUMENT")
            ),
            (
                400,
                body(
                    400,
                    "INVALID_ARGUMENT",
                    errorCode: "INVALID_ARGUMENT",
                    message: "Request contains an invalid argument."
                ),
                .failed(reason: "INVALID_ARGUMENT")
            ),
            (400, body(400, "INVALID_ARGUMENT"), .failed(reason: "INVALID_ARGUMENT")),
            (
                401, body(401, "UNAUTHENTICATED", errorCode: "THIRD_PARTY_AUTH_ERROR"),
                .failed(reason: "THIRD_PARTY_AUTH_ERROR", fault: .configuration)
            ),
            (401, body(401, "UNAUTHENTICATED"), .credential(reason: "UNAUTHENTICATED", action: .refreshToken)),
            (
                403, body(403, "PERMISSION_DENIED", errorCode: "SENDER_ID_MISMATCH"),
                .failed(reason: "SENDER_ID_MISMATCH")
            ),
            (403, body(403, "PERMISSION_DENIED"), .credential(reason: "PERMISSION_DENIED", action: .stop)),
            (404, body(404, "NOT_FOUND"), .failed(reason: "NOT_FOUND", fault: .configuration)),
            (
                429, body(429, "RESOURCE_EXHAUSTED", errorCode: "QUOTA_EXCEEDED"),
                .retry(reason: "QUOTA_EXCEEDED", after: nil, scope: .quota)
            ),
            (
                429, body(429, "RESOURCE_EXHAUSTED", errorCode: "QUOTA_EXCEEDED", details: quota("device:abc")),
                .retry(reason: "QUOTA_EXCEEDED", after: nil, scope: .device)
            ),
            (
                429, body(429, "RESOURCE_EXHAUSTED", errorCode: "QUOTA_EXCEEDED", details: quota("project:abc")),
                .retry(reason: "QUOTA_EXCEEDED", after: nil, scope: .project)
            ),
            (429, body(429, "RESOURCE_EXHAUSTED"), .retry(reason: "RESOURCE_EXHAUSTED", after: nil, scope: .quota)),
            (
                429, body(429, "RESOURCE_EXHAUSTED", message: "Quota exceeded for consumer 'project_number:1'"),
                .retry(reason: "RESOURCE_EXHAUSTED", after: nil, scope: .project)
            ),
            (
                429, body(429, "RESOURCE_EXHAUSTED", message: "Device message rate exceeded"),
                .retry(reason: "RESOURCE_EXHAUSTED", after: nil, scope: .device)
            ),
            (
                503, body(503, "UNAVAILABLE", errorCode: "UNAVAILABLE"),
                .retry(reason: "UNAVAILABLE", after: nil, scope: .push)
            ),
            (500, body(500, "INTERNAL", errorCode: "INTERNAL"), .retry(reason: "INTERNAL", after: nil, scope: .push)),
            (500, body(500, "INTERNAL"), .retry(reason: "INTERNAL", after: nil, scope: .push)),
            (504, body(504, "DEADLINE_EXCEEDED"), .retry(reason: "DEADLINE_EXCEEDED", after: nil, scope: .push)),
        ] as [(Int, String, Verdict)]
    )
    func documented(status: Int, body: String, meaning: Verdict) {
        #expect(verdict(status, body) == meaning)
    }

    @Test(
        "An unspecified or unknown error goes by what else is there",
        arguments: [
            (
                500, body(500, "INTERNAL", errorCode: "UNSPECIFIED_ERROR"),
                .retry(reason: "INTERNAL", after: nil, scope: .push)
            ),
            (
                400, body(400, "FAILED_PRECONDITION", errorCode: "UNSPECIFIED_ERROR"),
                .failed(reason: "FAILED_PRECONDITION")
            ),
            (400, body(400, "BRAND_NEW"), .failed(reason: "BRAND_NEW")),
            (404, body(404, "NOT_FOUND", errorCode: "BRAND_NEW"), .failed(reason: "NOT_FOUND", fault: .configuration)),
            (409, body(409, "ABORTED"), .retry(reason: "ABORTED", after: nil, scope: .push)),
            (499, body(499, "CANCELLED"), .retry(reason: "CANCELLED", after: nil, scope: .push)),
            (501, body(501, "UNIMPLEMENTED"), .failed(reason: "UNIMPLEMENTED", fault: .request)),
            (
                400, body(400, "INVALID_ARGUMENT", errorCode: "UNREGISTERED"),
                .removeDevice(reason: "UNREGISTERED", deadSince: nil)
            ),
            (503, "<html>503</html>", .retry(reason: "HTTP 503", after: nil, scope: .push)),
            (502, "", .retry(reason: "HTTP 502", after: nil, scope: .push)),
            (404, "<html>404</html>", .failed(reason: "HTTP 404")),
            (404, "", .failed(reason: "HTTP 404")),
            (400, #"{"error":{"details":[{"@type":"type.googleapis.com/google.fire"#, .failed(reason: "HTTP 400")),
            (400, #"{"error":"invalid"}"#, .failed(reason: "HTTP 400")),
            (400, #"{"error":{"status":7,"details":{},"message":[]}}"#, .failed(reason: "HTTP 400")),
            (400, #"{"error":{"status":"a b","details":[1,null,{"@type":3}]}}"#, .failed(reason: "HTTP 400")),
            (400, "[]", .failed(reason: "HTTP 400")),
            (401, "", .credential(reason: "HTTP 401", action: .refreshToken)),
            (403, "", .credential(reason: "HTTP 403", action: .stop)),
            (429, "", .retry(reason: "HTTP 429", after: nil, scope: .quota)),
            (408, "", .retry(reason: "HTTP 408", after: nil, scope: .push)),
            (302, "", .failed(reason: "HTTP 302")),
            (400, String(repeating: "y", count: 1_000_000), .failed(reason: "HTTP 400")),
        ] as [(Int, String, Verdict)]
    )
    func unknown(status: Int, body: String, meaning: Verdict) {
        #expect(verdict(status, body) == meaning)
    }

    @Test("200 is accepted; its name is in the body")
    func accepted() {
        #expect(verdict(200, "{}") == .sent)
        let name = #"{"name":"projects/p/messages/0:1500415314455276%31bd1c9631bd1c96"}"#
        #expect(FCMAnswer.name(inBody: Array(name.utf8)) == "projects/p/messages/0:1500415314455276%31bd1c9631bd1c96")
    }

    @Test(
        "A body without a name gives none",
        arguments: ["", "{", "{}", #"{"name":7}"#, #"{"name":""}"#, "[]", "<html>"]
    )
    func unnamed(body: String) {
        #expect(FCMAnswer.name(inBody: Array(body.utf8)) == nil)
    }

    @Test(
        "Retry-After counts in seconds, or by the answer's own date",
        arguments: [
            ("120", nil, .seconds(120)),
            ("0", nil, .zero),
            ("Mon, 30 Nov 2026 10:01:30 GMT", "Mon, 30 Nov 2026 10:00:00 GMT", .seconds(90)),
            ("Tue, 01 Dec 2026 00:00:05 GMT", "Mon, 30 Nov 2026 23:59:55 GMT", .seconds(10)),
            ("Mon, 30 Nov 2026 10:00:00 GMT", "Mon, 30 Nov 2026 10:01:30 GMT", .zero),
            ("Mon, 30 Nov 2026 10:01:30 GMT", nil, nil),
            ("Mon, 30 Nov 2026 10:01:30 GMT", "yesterday", nil),
            ("-5", nil, nil),
            ("1.5", nil, nil),
            ("soon", nil, nil),
            ("", nil, nil),
            ("99999999999999999999", nil, nil),
            ("Mon, 30 Foo 2026 10:01:30 GMT", "Mon, 30 Nov 2026 10:00:00 GMT", nil),
            ("Mon, 30 Nov 2026 25:01:30 GMT", "Mon, 30 Nov 2026 10:00:00 GMT", nil),
        ] as [(String, String?, Duration?)]
    )
    func retryAfter(value: String, date: String?, delay: Duration?) {
        let answer = verdict(429, Self.body(429, "RESOURCE_EXHAUSTED"), retryAfter: value, date: date)
        #expect(answer == .retry(reason: "RESOURCE_EXHAUSTED", after: delay, scope: .quota))
    }
}
