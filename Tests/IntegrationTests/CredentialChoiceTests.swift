import Encoding
import Simulator
import TestSupport
import Testing
import Transport
import Worker

/// Several credentials at once, from the file to what the simulator received.
@Suite(.redisServer, .timeLimit(.minutes(1))) struct CredentialChoiceTests {
    /// The key ID of the token in a received push.
    private func keyID(_ push: JSONValue) -> String? {
        let header = push["headers"]?["authorization"]?.string ?? ""
        return SignedToken(header.dropFirst("bearer ".count).utf8)?.header.root["kid"]?.string
    }

    @Test("Keys are chosen by topic and environment, on connections of their own; the single one is for the rest")
    func keys() async throws {
        let other = try SigningKey.generate(.es256)
        try await DeliveryScene.run(credentials: {
            $0.otherKeys = ["KEYAAAAAAA", "KEYBBBBBBB"].map {
                APNsTokenCheck.Key(key: other, keyID: $0, teamID: "TEAM123456")
            }
        }) { simulator, folder in
            let pem = try other.privatePEM()
            try File.write(pem, to: folder.path(of: "AuthKey_KEYAAAAAAA.p8"))
            try File.write(pem, to: folder.path(of: "AuthKey_KEYBBBBBBB.p8"))
            try File.write(try simulator.credentials.apnsKey.privatePEM(), to: folder.path(of: "single"))
            let text = """
                [{"kind":"apns-key","key_file":"AuthKey_KEYAAAAAAA.p8","team_id":"TEAM123456","topics":["com.a"]},
                 {"kind":"apns-key","key_file":"AuthKey_KEYBBBBBBB.p8","team_id":"TEAM123456",
                  "topics":["com.*"],"environments":["development"]}]
                """
            try File.write(Array(text.utf8), to: folder.path(of: "credentials.json"))
            return [
                "PUSHBRIDGE_CREDENTIALS": folder.path(of: "credentials.json"),
                "PUSHBRIDGE_APNS_KEY_FILE": folder.path(of: "single"), "PUSHBRIDGE_APNS_KEY_ID": "SIMKEY0001",
                "PUSHBRIDGE_APNS_TEAM_ID": "SIMTEAM001",
            ]
        } _: { scene in
            let wanted = [
                ("com.a", "production", "KEYAAAAAAA"), ("com.a", "development", "KEYAAAAAAA"),
                ("com.b", "development", "KEYBBBBBBB"), ("com.b", "production", "SIMKEY0001"),
                ("org.x", "development", "SIMKEY0001"),
            ]
            for (index, (topic, environment, _)) in wanted.enumerated() {
                try await scene.register("ab0\(index)", set: "apns:\(environment):\(topic)")
                try await scene.publish(topic: topic, environment: environment)
            }
            #expect(try await scene.traces(of: "sent", completed: wanted.count).count == wanted.count)
            let received = try await scene.received()
            let seen = Dictionary(uniqueKeysWithValues: received.map { ($0["device"]?.string ?? "", keyID($0)) })
            for (index, (_, _, key)) in wanted.enumerated() { #expect(seen["ab0\(index)"] == key) }
        }
    }

    @Test("When none fits there is one traced error that says what was looked for")
    func none() async throws {
        try await DeliveryScene.run { simulator, folder in
            try File.write(try simulator.credentials.apnsKey.privatePEM(), to: folder.path(of: "key"))
            let text = """
                [{"kind":"apns-key","key_file":"key","key_id":"SIMKEY0001","team_id":"SIMTEAM001",
                  "topics":["com.a"],"environments":["production"]}]
                """
            try File.write(Array(text.utf8), to: folder.path(of: "credentials.json"))
            return ["PUSHBRIDGE_CREDENTIALS": folder.path(of: "credentials.json")]
        } _: { scene in
            try await scene.register("ab12", set: "apns:development:com.a")
            try await scene.register("ab13", set: "apns:development:com.a")
            try await scene.publish(topic: "com.a", environment: "development")
            let errors = try await scene.traces(of: "error")
            #expect(errors.count == 1)
            #expect(errors.first?["reason"]?.string == "NoCredential")
            #expect(errors.first?["device"] == nil)
            let text = try #require(errors.first?["text"]?.string)
            #expect(text.contains("an APNs key for the topic com.a in development was looked for"), "\(text)")
            #expect(text.contains("key SIMKEY0001 (entry 1 of PUSHBRIDGE_CREDENTIALS, production"), "\(text)")
            let completed = try #require(try await scene.traces(of: "completed").first)
            #expect(completed["errored"]?.integer == 2)
            try await scene.publish(#""pn_fcm":{"notification":{"title":"x"}}"#)
            let all = try await scene.traces(of: "error", completed: 2)
            #expect(all.last?["text"]?.string?.contains("PUSHBRIDGE_FCM_SERVICE_ACCOUNT") == true)
        }
    }

    @Test("FCM projects are chosen by channel")
    func projects() async throws {
        try await DeliveryScene.run { simulator, folder in
            let account = try simulator.credentials.serviceAccountJSON(tokenURL: simulator.tokenURL)
            try File.write(account, to: folder.path(of: "simulated.json"))
            let other = String(decoding: account, as: UTF8.self)
                .split(separator: "\"simulated\"", omittingEmptySubsequences: false).joined(separator: "\"other\"")
            try File.write(Array(other.utf8), to: folder.path(of: "other.json"))
            let text = """
                [{"kind":"fcm","service_account_file":"other.json","channels":["*:shop.*"]},
                 {"kind":"fcm","service_account_file":"simulated.json"}]
                """
            try File.write(Array(text.utf8), to: folder.path(of: "credentials.json"))
            return ["PUSHBRIDGE_CREDENTIALS": folder.path(of: "credentials.json")]
        } _: { scene in
            for channel in ["shop.1", "news"] {
                try await scene.register("token-\(channel)", channel: channel, set: "fcm")
                try await scene.publish(#""pn_fcm":{"notification":{"title":"x"}}"#, channel: channel)
            }
            _ = try await scene.outcomes(completed: 2)
            let paths = try await scene.received().map { ($0["device"]?.string ?? "", $0["path"]?.string) }
            let seen = Dictionary(uniqueKeysWithValues: paths)
            #expect(seen["token-shop.1"] == "/v1/projects/other/messages:send")
            #expect(seen["token-news"] == "/v1/projects/simulated/messages:send")
        }
    }
}
