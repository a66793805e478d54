import Encoding
import TestSupport
import Testing
import Transport
import Worker

/// A traced message says why nothing happens, while there is nobody to send it to.
@Suite("Traces without a provider", .serialized, .timeLimit(.minutes(5)))
struct SilenceTests {
    @Test("No connection: tried again, with the reason; one attempt only: expired, with the reason")
    func noConnection() async throws {
        let scene = try await AnswerScene(["PUSHBRIDGE_APNS_PRODUCTION_URL": "https://127.0.0.1:1"])
        for channel in ["patient", "once"] { try await scene.register("ab", .apns, on: channel) }
        let id = try await scene.publish(.apns, on: "patient")
        let once = try await scene.publish(.apns, on: "once", ttl: 0)
        let retry = try await scene.traces("retry", of: id).first
        #expect(retry?["reason"]?.string == "NoConnection")
        #expect(retry?["text"]?.string?.contains("cannot be reached") == true)
        #expect(retry?["attempt"]?.integer == 1)
        let expired = try await scene.traces("expired", of: once).first
        #expect(expired?["text"]?.string?.contains("cannot be reached") == true)
        #expect(try await scene.traces("completed", of: once).first?["expired"]?.integer == 1)
        try await scene.close()
    }

    @Test("No access token yet: tried again, with the reason; an account that Google refuses: failed, with the reason")
    func noToken() async throws {
        let away = try await AnswerScene(script: #"[{"gateway":"token","status":503}]"#)
        try await away.register("de:vice", .fcm, on: "a")
        let retry = try await away.traces("retry", of: away.publish(.fcm, on: "a")).first
        #expect(retry?["reason"]?.string == "NoAccessToken")
        try await away.close()
        let refused = try await AnswerScene(script: #"[{"gateway":"token","status":400,"reason":"invalid_grant"}]"#)
        try await refused.register("de:vice", .fcm, on: "a")
        let id = try await refused.publish(.fcm, on: "a")
        let error = try await refused.traces("error", of: id).first
        #expect(error?["reason"]?.string == "invalid_grant")
        #expect(try await refused.traces("completed", of: id).first?["errored"]?.integer == 1)
        try await refused.close()
    }
}
