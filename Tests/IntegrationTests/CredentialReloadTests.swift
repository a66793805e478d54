import Encoding
import Foundation
import Simulator
import TestSupport
import Testing
import Transport
import Worker

/// Credentials that change while the worker runs.
@Suite(.redisServer, .timeLimit(.minutes(1))) struct CredentialReloadTests {
    private static let set = "apns:production:com.a"

    /// The key ID of the token in a received push.
    private func keyIDs(_ scene: DeliveryScene) async throws -> [String?] {
        try await scene.received().map { push in
            let header = push["headers"]?["authorization"]?.string ?? ""
            return SignedToken(header.dropFirst("bearer ".count).utf8)?.header.root["kid"]?.string
        }
    }

    private static func entry(_ keyID: String, more: String = "") -> [UInt8] {
        let text = #"[{"kind":"apns-key","key_file":"key","key_id":"\#(keyID)","team_id":"SIMTEAM001"\#(more)}]"#
        return Array(text.utf8)
    }

    /// A worker whose credentials file names one key; the simulator knows another with the ID NEWKEY0001.
    private func withKeys(_ body: (DeliveryScene, SigningKey) async throws -> Void) async throws {
        let new = try SigningKey.generate(.es256)
        try await DeliveryScene.run(credentials: {
            $0.otherKeys = [APNsTokenCheck.Key(key: new, keyID: "NEWKEY0001", teamID: "SIMTEAM001")]
        }) { simulator, folder in
            try File.write(try simulator.credentials.apnsKey.privatePEM(), to: folder.path(of: "key"))
            try File.write(Self.entry("SIMKEY0001"), to: folder.path(of: "credentials.json"))
            return ["PUSHBRIDGE_CREDENTIALS": folder.path(of: "credentials.json")]
        } _: { scene in
            try await scene.register("ab12", set: Self.set)
            try await scene.publish(topic: "com.a")
            #expect(try await scene.traces(of: "sent").count == 1)
            try await body(scene, new)
        }
    }

    @Test("A changed key is used without a restart, on new connections")
    func replaced() async throws {
        try await withKeys { scene, new in
            try File.write(try new.privatePEM(), to: scene.folder.path(of: "key"))
            try File.write(Self.entry("NEWKEY0001"), to: scene.folder.path(of: "credentials.json"))
            try await scene.waitForLog("a credential takes another's place")
            try await scene.publish(topic: "com.a")
            #expect(try await scene.traces(of: "sent", completed: 2).count == 2)
            #expect(try await keyIDs(scene) == ["SIMKEY0001", "NEWKEY0001"])
            #expect(scene.log.contains("former=\"key SIMKEY0001\""))
        }
    }

    @Test("A broken new file is said in the log, and the former key stays in use")
    func broken() async throws {
        try await withKeys { scene, new in
            for (number, broken) in ["[{", "[{}]", String(decoding: Self.entry("SHORT"), as: UTF8.self)].enumerated() {
                try File.write(Array(broken.utf8), to: scene.folder.path(of: "credentials.json"))
                try await scene.readCredentialsAgain()
                try await scene.waitForLog(["is not JSON", "kind is missing", "key_id is"][number])
            }
            try File.write(Self.entry("NEWKEY0001"), to: scene.folder.path(of: "credentials.json"))
            try File.write(Array("no key".utf8), to: scene.folder.path(of: "key"))
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("is no private key")
            #expect(scene.log.contains("the former ones stay in use"))
            try await scene.publish(topic: "com.a")
            #expect(try await scene.traces(of: "sent", completed: 2).count == 2)
            #expect(try await keyIDs(scene) == ["SIMKEY0001", "SIMKEY0001"])
            // Mended without another word, it is taken.
            try File.write(try new.privatePEM(), to: scene.folder.path(of: "key"))
            try await scene.waitForLog("a credential takes another's place")
        }
    }

    @Test("What a key is for may change, and it may go")
    func uses() async throws {
        try await withKeys { scene, _ in
            let path = scene.folder.path(of: "credentials.json")
            try File.write(Self.entry("SIMKEY0001", more: #","topics":["com.b"]"#), to: path)
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("credentials were read again credentials=1")
            try await scene.publish(topic: "com.a")
            let errors = try await scene.traces(of: "error", completed: 2)
            #expect(errors.first?["text"]?.string?.contains("topics com.b") == true)
            try File.write(Array("[]".utf8), to: path)
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("a credential is gone")
            try await scene.waitForLog("no credential is left")
            try await scene.publish(topic: "com.b")
            let none = try await scene.traces(of: "error", completed: 3)
            #expect(none.last?["text"]?.string?.contains("no APNs key is set") == true)
        }
    }

    @Test("When asked without a change it says so, and nothing is done")
    func unchanged() async throws {
        try await withKeys { scene, _ in
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("nothing has changed")
            #expect(!scene.log.contains("takes another's place"))
        }
    }

    @Test("A link that points elsewhere is a change, as in volumes of Kubernetes")
    func symbolicLinks() async throws {
        try await DeliveryScene.run { simulator, folder in
            for (name, topic) in [("one", "com.a"), ("two", "com.b")] {
                try FileManager.default.createDirectory(
                    atPath: folder.path(of: name),
                    withIntermediateDirectories: false
                )
                let certificate = try simulator.credentials.certificate(topics: [topic])
                let pem = certificate.chainPEM + certificate.keyPEM
                try File.write(pem, to: folder.path(of: "\(name)/certificate.pem"))
            }
            let (data, file) = (folder.path(of: "..data"), folder.path(of: "certificate.pem"))
            try FileManager.default.createSymbolicLink(atPath: data, withDestinationPath: "one")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "..data/certificate.pem")
            return ["PUSHBRIDGE_APNS_CERTIFICATE_FILE": file]
        } _: { scene in
            try await scene.register("ab12", set: "apns:production:com.b")
            try await scene.publish(topic: "com.b", method: "cert")
            #expect(try await scene.traces(of: "error").first?["reason"]?.string == "TopicDisallowed")
            let files = FileManager.default
            try files.removeItem(atPath: scene.folder.path(of: "..data"))
            try files.createSymbolicLink(atPath: scene.folder.path(of: "..data"), withDestinationPath: "two")
            try await scene.waitForLog("a credential takes another's place")
            try await scene.publish(topic: "com.b", method: "cert")
            #expect(try await scene.traces(of: "sent", completed: 2).count == 1)
        }
    }

    @Test("A changed service account is used once it has a token, and one that gets none changes nothing")
    func serviceAccount() async throws {
        try await DeliveryScene.run { simulator, folder in
            let account = try simulator.credentials.serviceAccountJSON(tokenURL: simulator.tokenURL)
            try File.write(account, to: folder.path(of: "account.json"))
            return ["PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE": folder.path(of: "account.json")]
        } _: { scene in
            try await scene.register("token", set: "fcm")
            let message = #""pn_fcm":{"notification":{"title":"x"}}"#
            try await scene.publish(message)
            #expect(try await scene.traces(of: "sent").count == 1)
            let path = scene.folder.path(of: "account.json")
            let text = String(decoding: try File.read(path), as: UTF8.self)
            let refused = text.replacingOccurrences(of: "push@simulated", with: "other@simulated")
            try File.write(Array(refused.utf8), to: path)
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("there is no access token")
            try await scene.publish(message)
            #expect(try await scene.traces(of: "sent", completed: 2).count == 2)
            let other = text.replacingOccurrences(of: "\"simulated\"", with: "\"other\"")
            try File.write(Array(other.utf8), to: path)
            try await scene.readCredentialsAgain()
            try await scene.waitForLog("got an access token for FCM project=other")
            try await scene.publish(message)
            _ = try await scene.outcomes(completed: 3)
            #expect(try await scene.received().last?["path"]?.string == "/v1/projects/other/messages:send")
        }
    }
}
