import Encoding
import Simulator
import TestSupport
import Testing
import Transport

/// `pushbridge send` against the simulator, as a person uses it.
@Suite("One push straight to one device", .serialized, .timeLimit(.minutes(5)))
struct SendCommandTests {
    /// Runs the body with a simulator and the settings that lead to it.
    private func withSimulator(
        _ body: (LoopConfined<Simulator>, EventLoop, [String: String]) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let credentials = try SimulatorCredentials()
            let simulator = try await loop.run {
                let options = SimulatorOptions()
                return LoopConfined(try Simulator(options: options, credentials: credentials, on: loop), on: loop)
            }
            try await body(simulator, loop, AnswerScene.environment(of: simulator, on: loop))
            try await loop.run { simulator.value.close() }
        }
    }

    private func received(_ simulator: LoopConfined<Simulator>, _ loop: EventLoop) async throws -> [JSONValue] {
        let lines = try await loop.run { simulator.value.received }
        return lines.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONDocument(Array($0)).root }
    }

    private func script(_ simulator: LoopConfined<Simulator>, _ loop: EventLoop, _ text: String) async throws {
        let script = try Script(Array(text.utf8))
        try await loop.run { simulator.value.setScript(script) }
    }

    @Test("An .apn file goes to its app as it stands, with the headers that are asked for")
    func apnFile() async throws {
        let folder = try TemporaryFolder()
        let payload = #"{ "Simulator Target Bundle": "com.example.app", "aps": {"alert":"é"}, "x": 1.50 }"#
        try File.write(Array(payload.utf8), to: folder.path(of: "test.apn"))
        try await withSimulator { simulator, loop, environment in
            let options = ["--payload", folder.path(of: "test.apn"), "--environment", "production"]
            let more = ["--priority", "5", "--collapse-id", "c1", "--push-type", "alert", "--json"]
            let result = try await BuiltProgram.run(["send", "00FF"] + options + more, environment: environment)
            #expect(result.exit == .code(0), "\(result.error)")
            let answer = try JSONDocument(Array(result.output.utf8)).root
            #expect(answer["accepted"]?.bool == true && answer["status"]?.integer == 200)
            #expect(answer["token"]?.string == "00ff" && answer["topic"]?.string == "com.example.app")
            let push = try #require(try await received(simulator, loop).first)
            #expect(push["environment"]?.string == "production")
            #expect(push["body"]?.string == #"{"aps":{"alert":"é"},"x":1.50}"#)
            #expect(push["headers"]?["apns-id"]?.string == answer["apns_id"]?.string)
            #expect(push["headers"]?["apns-priority"]?.string == "5")
            #expect(push["headers"]?["apns-collapse-id"]?.string == "c1")
        }
    }

    @Test(
        "A refusal ends with 1, the provider's word, and a sentence that says what to do",
        arguments: [
            (400, "BadDeviceToken", "Xcode"), (403, "InvalidProviderToken", "key ID"), (410, "Unregistered", "removed"),
            (429, "TooManyRequests", "less often"), (503, "ServiceUnavailable", "not available"),
            (400, "BrandNewReason", "not known"), (500, "BrandNewReason", "try again later"),
        ]
    )
    func refused(status: Int, reason: String, advice: String) async throws {
        try await withSimulator { simulator, loop, environment in
            try await script(simulator, loop, #"[{"status":\#(status),"reason":"\#(reason)"}]"#)
            let result = try await BuiltProgram.run(["send", "00ff", "--topic", "com.x"], environment: environment)
            #expect(result.exit == .code(1))
            #expect(result.output.contains("APNs refused it: \(status) \(reason)"), "\(result.output)")
            #expect(result.output.contains(advice), "\(result.output)")
            #expect(try await received(simulator, loop).count == 1)
        }
    }

    @Test("An FCM device gets a v1 message, also one with Google's frame around it")
    func fcm() async throws {
        let folder = try TemporaryFolder()
        let payload = #"{"message":{"data":{"a":1},"token":"another"}}"#
        try File.write(Array(payload.utf8), to: folder.path(of: "m.json"))
        try await withSimulator { simulator, loop, environment in
            let options = ["send", "to:ken", "--fcm", "--payload", folder.path(of: "m.json"), "--json"]
            let result = try await BuiltProgram.run(options, environment: environment)
            #expect(result.exit == .code(0), "\(result.output) \(result.error)")
            let answer = try JSONDocument(Array(result.output.utf8)).root
            #expect(answer["name"]?.string?.hasPrefix("projects/simulated/messages/") == true)
            let push = try #require(try await received(simulator, loop).first)
            #expect(push["body"]?.string == #"{"message":{"data":{"a":"1"},"token":"to:ken"}}"#)
            let quota = #"[{"status":429,"reason":"QUOTA_EXCEEDED"}]"#
            try await script(simulator, loop, quota)
            let refused = try await BuiltProgram.run(options, environment: environment)
            #expect(refused.exit == .code(1))
            let advice = try JSONDocument(Array(refused.output.utf8)).root["advice"]?.string
            #expect(advice?.contains("quota") == true)
        }
    }

    @Test("Without a provider or a credential it says so, and ends with 1")
    func unsent() async throws {
        try await withSimulator { _, _, environment in
            var away = environment
            away["PUSHBRIDGE_APNS_DEVELOPMENT_URL"] = "https://127.0.0.1:1"
            let unreachable = try await BuiltProgram.run(["send", "00ff", "--topic", "com.x"], environment: away)
            #expect(unreachable.exit == .code(1))
            #expect(unreachable.output.contains("cannot be reached"))
            let options = ["send", "00ff", "--topic", "com.x", "--auth-method", "cert", "--json"]
            let none = try await BuiltProgram.run(options, environment: environment)
            #expect(none.exit == .code(1))
            #expect(none.output.contains(#""reason":"NoCredential""#))
        }
    }

    @Test(
        "Wrong use ends with 2, a payload that cannot be sent with 1",
        arguments: [
            (["send"], 2), (["send", "00ff"], 2), (["send", "xyz", "--topic", "com.x"], 2),
            (["send", "00ff", "--topic", "com.x", "--environment", "moon"], 2),
            (["send", "00ff", "--fcm", "--topic", "com.x"], 2),
            (["send", "00ff", "--topic", "com.x", "--priority", "x"], 2),
            (["send", "00ff", "--topic", "com.x", "--payload", "/nowhere"], 1),
            (["send", "00ff", "--topic", "com.x", "--payload", "/dev/null"], 1),
        ] as [([String], Int32)]
    )
    func wrongUse(arguments: [String], code: Int32) async throws {
        let result = try await BuiltProgram.run(arguments)
        #expect(result.exit == .code(code), "\(result.error)")
    }
}
