import Encoding
import Simulator
import TestSupport
import Testing
import Transport
import Worker

/// What the worker does when the provider's connections fail, over real TLS.
@Suite(.redisServer, .timeLimit(.minutes(2))) struct ConnectionFaultTests {
    private static let set = "apns:production:com.example.app"

    /// A fault, and words that the log must have.
    struct Fault: CustomTestStringConvertible, Sendable {
        let name: String
        var conduct = "{}"
        var script = "[]"
        var logged = ""

        var testDescription: String { name }
    }

    private static let faults = [
        Fault(name: "refused streams", script: #"[{"share": 0.5, "times": 30, "fault": "refuse"}]"#),
        Fault(name: "reset streams", script: #"[{"share": 0.3, "times": 9, "fault": "reset"}]"#),
        Fault(
            name: "GOAWAY with JSON",
            conduct: #"{"goaway_every": 7, "goaway_data": {"reason": "Shutdown"}}"#,
            logged: "Shutdown"
        ),
        Fault(name: "GOAWAY without data", conduct: #"{"goaway_every": 7}"#, logged: "the provider ends a connection"),
        Fault(name: "GOAWAY for a stream", script: #"[{"share": 0.2, "times": 4, "fault": "goaway"}]"#),
        Fault(
            name: "503 Shutdown, then GOAWAY",
            script: #"[{"times": 1, "status": 503, "reason": "Shutdown", "then": "goaway"}]"#
        ),
        Fault(name: "closed connections", script: #"[{"share": 0.2, "times": 4, "fault": "drop"}]"#),
        Fault(name: "TCP resets", script: #"[{"share": 0.2, "times": 4, "fault": "abort"}]"#),
        Fault(
            name: "a connection that falls silent",
            script: #"[{"share": 0.1, "times": 1, "fault": "mute"}]"#,
            logged: "no sign of life"
        ),
        Fault(name: "a first answer that never comes", script: #"[{"times": 1, "fault": "silent"}]"#, logged: "silent"),
        Fault(name: "late SETTINGS", conduct: #"{"settings_delay_ms": 1000}"#),
        Fault(name: "a stream limit that shrinks", conduct: #"{"streams_after": 5, "streams": 1}"#),
        Fault(name: "too many errors", conduct: #"{"errors_limit": 2}"#, script: #"[{"times": 4, "status": 500}]"#),
        Fault(name: "PINGs without answer", conduct: #"{"ignore_pings": true}"#),
    ]

    @Test(
        "Whatever happens to a connection, each push has one outcome, and a repeated one its apns-id",
        arguments: faults
    )
    func apns(fault: Fault) async throws {
        var options = SimulatorOptions()
        options.conduct = try Conduct(Array(fault.conduct.utf8))
        options.script = try Script(Array(fault.script.utf8))
        try await DeliveryScene.run(options) { simulator, _ in
            let credentials = simulator.credentials
            return [
                "PUSHBRIDGE_APNS_KEY": String(decoding: try credentials.apnsKey.privatePEM(), as: UTF8.self),
                "PUSHBRIDGE_APNS_KEY_ID": credentials.apnsKeyID, "PUSHBRIDGE_APNS_TEAM_ID": credentials.apnsTeamID,
            ]
        } _: { scene in
            let devices = 30
            for number in 0..<devices { try await scene.register(Self.token(number), set: Self.set) }
            try await scene.publish(topic: "com.example.app")
            let completed = try #require(try await scene.traces(of: "completed", within: .seconds(70)).first)
            #expect(completed["sent"]?.integer == Int64(devices), "\(String(decoding: completed.text, as: UTF8.self))")
            var names: [String: Set<String>] = [:]
            for push in try await scene.received() {
                names[push["device"]?.string ?? "", default: []].insert(push["headers"]?["apns-id"]?.string ?? "")
            }
            #expect(names.count == devices)
            #expect(names.values.allSatisfy { $0.count == 1 })
            if !fault.logged.isEmpty { #expect(scene.log.contains(fault.logged), "\(scene.log)") }
        }
    }

    private static func token(_ number: Int) -> String { "ab" + (number < 16 ? "0" : "") + String(number, radix: 16) }

    @Test("A certificate that is not good for the provider sends nothing, and the log says why")
    func wrongCertificate() async throws {
        var options = SimulatorOptions()
        options.certificateFault = .host
        try await DeliveryScene.run(options) { simulator, _ in
            let credentials = simulator.credentials
            return [
                "PUSHBRIDGE_APNS_KEY": String(decoding: try credentials.apnsKey.privatePEM(), as: UTF8.self),
                "PUSHBRIDGE_APNS_KEY_ID": credentials.apnsKeyID, "PUSHBRIDGE_APNS_TEAM_ID": credentials.apnsTeamID,
            ]
        } _: { scene in
            try await scene.register("ab12", set: Self.set)
            try await scene.publish(topic: "com.example.app")
            try await scene.waitForLog("the provider cannot be reached")
            #expect(try await scene.received().isEmpty)
        }
    }

    @Test("A token endpoint that fails at first is asked again; one that refuses ends the pushes with its word")
    func tokenEndpoint() async throws {
        for (script, stage) in [
            (#"[{"gateway": "token", "status": 503, "times": 1}]"#, "sent"),
            (#"[{"gateway": "token", "status": 400, "reason": "invalid_grant"}]"#, "error"),
        ] {
            var options = SimulatorOptions()
            options.script = try Script(Array(script.utf8))
            try await DeliveryScene.run(options) { simulator, _ in
                let account = try simulator.credentials.serviceAccountJSON(tokenURL: simulator.tokenURL)
                return ["PUSHBRIDGE_FCM_SERVICE_ACCOUNT": String(decoding: account, as: UTF8.self)]
            } _: { scene in
                try await scene.register("device-1", set: "fcm")
                try await scene.publish(#""pn_fcm":{"notification":{"title":"x"}}"#)
                let traces = try await scene.traces(of: stage, within: .seconds(50))
                #expect(traces.count == 1)
                if stage == "error" { #expect(traces.first?["reason"]?.string == "invalid_grant") }
            }
        }
    }
}
