import Encoding
import Simulator
import TestSupport
import Testing
import Transport
import Worker

/// Tokens that are not to be had, not taken, or made by a clock that is wrong: what becomes of the pushes.
@Suite(.redisServer, .timeLimit(.minutes(1))) struct TokenTroubleTests {
    private static let message = #""pn_fcm":{"notification":{"title":"x"}}"#

    /// A worker with credentials for both providers, and a simulator with a script.
    private func withScript(_ script: String, _ body: (DeliveryScene) async throws -> Void) async throws {
        var options = SimulatorOptions()
        options.script = try Script(Array(script.utf8))
        try await DeliveryScene.run(options) { simulator, folder in
            let account = try simulator.credentials.serviceAccountJSON(tokenURL: simulator.tokenURL)
            try File.write(account, to: folder.path(of: "account.json"))
            try File.write(try simulator.credentials.apnsKey.privatePEM(), to: folder.path(of: "key"))
            return [
                "PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE": folder.path(of: "account.json"),
                "PUSHBRIDGE_APNS_KEY_FILE": folder.path(of: "key"), "PUSHBRIDGE_APNS_KEY_ID": "SIMKEY0001",
                "PUSHBRIDGE_APNS_TEAM_ID": "SIMTEAM001",
            ]
        } _: { scene in
            try await scene.register("token", set: "fcm")
            try await scene.register("ab12", set: "apns:production:com.a")
            try await body(scene)
        }
    }

    @Test("An endpoint that is not well is asked again, and pushes wait for it")
    func unavailable() async throws {
        try await withScript(#"[{"gateway":"token","status":503,"times":2}]"#) { scene in
            try await scene.publish(Self.message)
            #expect(try await scene.traces(of: "sent").count == 1)
            #expect(scene.log.contains("no access token for FCM yet"))
            #expect(try await scene.tokenRequests() == 3)
        }
    }

    @Test("A refused account ends pushes at once, with what to look at; APNs goes on")
    func refused() async throws {
        try await withScript(#"[{"gateway":"token","status":400,"reason":"invalid_grant"}]"#) { scene in
            try await scene.waitForLog("there is no access token")
            try await scene.publish(Self.message)
            let error = try #require(try await scene.traces(of: "error").first)
            #expect(error["reason"]?.string == "invalid_grant")
            let text = try #require(error["text"]?.string)
            #expect(text.contains("key was deleted") && text.contains("clock"), "\(text)")
            try await scene.publish(topic: "com.a")
            #expect(try await scene.traces(of: "sent", completed: 2).count == 1)
            #expect(try await scene.tokenRequests() == 1)
        }
    }

    @Test("A push that FCM answers with 401 is sent once more, and a second 401 is an error")
    func unauthenticated() async throws {
        try await withScript(#"[{"gateway":"fcm","status":401,"times":1}]"#) { scene in
            try await scene.publish(Self.message)
            #expect(try await scene.traces(of: "sent").count == 1)
            #expect(try await scene.received().map { $0["status"]?.integer } == [401, 200])
        }
        try await withScript(#"[{"gateway":"fcm","status":401}]"#) { scene in
            try await scene.publish(Self.message)
            let errors = try await scene.traces(of: "error")
            #expect(errors.map { $0["reason"]?.string } == ["UNAUTHENTICATED"])
            #expect(try await scene.received().count == 2)
        }
    }

    @Test("A token of a short life is renewed before its end, without a push that is refused")
    func shortLife() async throws {
        try await withScript(#"[{"gateway":"token","expires_in":8}]"#) { scene in
            var count = 0
            while try await scene.tokenRequests() < 2 {
                count += 1
                try await scene.publish(Self.message)
                _ = try await scene.outcomes(completed: count)
            }
            #expect(try await scene.received().allSatisfy { $0["status"]?.integer == 200 })
        }
    }

    @Test("A clock that is wrong is said with the answer that shows it")
    func wrongClock() async throws {
        let date = #""headers":{"date":"Sun, 06 Nov 1994 08:49:37 GMT"}"#
        let rule = #"{"gateway":"apns","status":403,"reason":"ExpiredProviderToken","times":1,\#(date)}"#
        try await withScript("[\(rule)]") { scene in
            try await scene.publish(topic: "com.a")
            _ = try await scene.outcomes()
            #expect(
                scene.log.contains("clock is wrong: set it (NTP), or tokens are refused provider=apns ahead_seconds=")
            )
        }
    }

    @Test("Neither keys nor tokens are in the log, whatever goes wrong")
    func secrets() async throws {
        let rules = #"[{"gateway":"apns","status":403,"reason":"InvalidProviderToken"},{"gateway":"fcm","status":403}]"#
        try await withScript(rules) { scene in
            try await scene.publish(topic: "com.a")
            try await scene.publish(Self.message)
            _ = try await scene.outcomes(completed: 2)
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("nothing has changed")
            for secret in ["MIG", "MII", "eyJ", "ya29", "PRIVATE"] { #expect(!scene.log.contains(secret), "\(secret)") }
        }
    }
}
