import Encoding
import Simulator
import TestSupport
import Testing
import Transport
import Worker

/// Pushes with a client certificate, from the inbox in Redis to the simulator's checks, over real TLS.
@Suite(.redisServer, .timeLimit(.minutes(1))) struct CertificateDeliveryTests {
    private static let set = "apns:production:com.example.app"

    /// The settings for a certificate in a file.
    private static func settings(_ certificate: CertifiedKey, _ folder: TemporaryFolder) throws -> [String: String] {
        try File.write(certificate.chainPEM + certificate.keyPEM, to: folder.path(of: "certificate.pem"))
        return ["PUSHBRIDGE_APNS_CERTIFICATE_FILE": folder.path(of: "certificate.pem")]
    }

    @Test("A target that asks for it goes with the certificate, without a token", arguments: [false, true])
    func delivered(isDemanded: Bool) async throws {
        var options = SimulatorOptions()
        options.demandsCertificate = isDemanded
        try await DeliveryScene.run(options) { simulator, folder in
            let topics = ["com.example.app", "com.example.app.voip"]
            return try Self.settings(try simulator.credentials.certificate(topics: topics), folder)
        } _: { scene in
            try await scene.register("ab12", set: Self.set)
            try await scene.publish(topic: "com.example.app", method: "cert")
            try await scene.publish(topic: "com.example.app", method: "certificate", type: "voip")
            let sent = try await scene.traces(of: "sent", completed: 2)
            #expect(sent.count == 2)
            let received = try await scene.received()
            #expect(received.count == 2)
            for push in received {
                #expect(push["status"]?.integer == 200)
                #expect(push["headers"]?["authorization"] == nil)
                #expect(push["headers"]?["apns-id"] != nil)
            }
            #expect(
                Set(received.compactMap { $0["headers"]?["apns-topic"]?.string }) == [
                    "com.example.app", "com.example.app.voip",
                ]
            )
        }
    }

    @Test("A topic that the certificate does not cover is one traced error that says what it covers")
    func uncovered() async throws {
        try await DeliveryScene.run { simulator, folder in
            try Self.settings(try simulator.credentials.certificate(topics: ["com.example.app"]), folder)
        } _: { scene in
            try await scene.register("ab12", set: Self.set)
            try await scene.publish(topic: "com.example.app", method: "cert", type: "voip")
            let errors = try await scene.traces(of: "error")
            #expect(errors.count == 1)
            #expect(errors.first?["reason"]?.string == "TopicDisallowed")
            let text = try #require(errors.first?["text"]?.string)
            #expect(text.contains("com.example.app.voip") && text.contains("has com.example.app"), "\(text)")
            let completed = try #require(try await scene.traces(of: "completed").first)
            #expect(completed["expected"]?.integer == 1 && completed["errored"]?.integer == 1)
            #expect(try await scene.received().isEmpty)
        }
    }

    @Test("A key is for tokens alone: a certificate that is asked for and not there is one traced error")
    func notThere() async throws {
        try await DeliveryScene.run { simulator, folder in
            try File.write(try simulator.credentials.apnsKey.privatePEM(), to: folder.path(of: "key"))
            return [
                "PUSHBRIDGE_APNS_KEY_FILE": folder.path(of: "key"), "PUSHBRIDGE_APNS_KEY_ID": "SIMKEY0001",
                "PUSHBRIDGE_APNS_TEAM_ID": "SIMTEAM001",
            ]
        } _: { scene in
            try await scene.register("ab12", set: Self.set)
            try await scene.publish(topic: "com.example.app", method: "cert")
            let errors = try await scene.traces(of: "error")
            #expect(errors.compactMap { $0["reason"]?.string } == ["NoCredential"])
            #expect(errors.first?["text"]?.string?.contains("PUSHBRIDGE_APNS_CERTIFICATE") == true)
            try await scene.publish(topic: "com.example.app")
            #expect(try await scene.traces(of: "sent", completed: 2).count == 1)
        }
    }

    @Test("A certificate that APNs does not know is said in the log, and nothing is sent")
    func unknown() async throws {
        try await DeliveryScene.run { _, folder in
            let other = try SimulatorCredentials()
            return try Self.settings(try other.certificate(topics: ["com.example.app"]), folder)
        } _: { scene in
            try await scene.register("ab12", set: Self.set)
            try await scene.publish(topic: "com.example.app", method: "cert")
            try await scene.waitForLog("unknown ca")
            #expect(try await scene.received().isEmpty)
        }
    }
}
