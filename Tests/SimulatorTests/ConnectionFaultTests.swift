import Encoding
import HTTP2
import Simulator
import TestSupport
import Testing
import Transport

@Suite("Faults of the simulator's connections, over TLS", .timeLimit(.minutes(1)))
struct ConnectionFaultTests {
    private func options(_ conduct: String, script: String = "[]") throws -> SimulatorOptions {
        var options = SimulatorOptions()
        options.conduct = try Conduct(Array(conduct.utf8))
        options.script = try Script(Array(script.utf8))
        options.isTallied = true
        return options
    }

    @Test("GOAWAY comes after so many requests on each connection, with its data, and nothing later is processed")
    func goAwayEvery() async throws {
        let conduct = #"{"goaway_every": 10, "goaway_data": "{\"reason\":\"Shutdown\"}"}"#
        try await withSimulator(try options(conduct)) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) {
                    $0.unprovenStreamLimit = 1
                    $0.maximumConnections = 1
                }
                scene.value.push(scene.value.apnsRequest(), tags: 0..<45)
            }
            try await loop.wait(for: "all outcomes") {
                scene.value.waiting.isEmpty && scene.value.answers.count + scene.value.failures.count == 45
            }
            try await loop.run {
                let goAways = scene.value.events.compactMap { event in
                    guard case .goAway(let goAway) = event else { return nil as HTTP2GoAway? }
                    return goAway
                }
                #expect(!goAways.isEmpty)
                #expect(goAways.allSatisfy { $0.debugData == Array(#"{"reason":"Shutdown"}"#.utf8) })
                #expect(scene.value.failures.values.allSatisfy { $0 == .notProcessed(reason: "GOAWAY") })
                #expect(scene.value.received.count == scene.value.answers.count)
            }
        }
    }

    @Test("A connection with too many errors is closed; 410 does not count")
    func errorLimit() async throws {
        let script = #"[{"device": "01", "status": 410}, {"device": "02", "status": 400, "reason": "BadDeviceToken"}]"#
        try await withSimulator(try options(#"{"errors_limit": 3}"#, script: script)) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) { $0.unprovenStreamLimit = 1 }
                scene.value.push(scene.value.apnsRequest(device: "01"), tags: 0..<10)
            }
            try await loop.wait(for: "ten answers") { scene.value.answers.count == 10 }
            try await loop.run {
                #expect(scene.value.events.count == 1)
                scene.value.push(scene.value.apnsRequest(device: "02"), tags: 10..<13)
            }
            try await loop.wait(for: "the end") {
                scene.value.events.contains { event in
                    guard case .closed = event else { return false }
                    return true
                }
            }
            try await loop.run { #expect(scene.value.answers.count == 13) }
        }
    }

    @Test("The stream limit shrinks after so many requests, and is kept to")
    func shrinkingLimit() async throws {
        try await withSimulator(try options(#"{"streams_after": 20, "streams": 3}"#)) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) {
                    $0.unprovenStreamLimit = 1
                    $0.maximumConnections = 1
                }
                scene.value.push(scene.value.apnsRequest(), tags: 0..<200)
            }
            try await loop.wait(for: "all outcomes") {
                scene.value.waiting.isEmpty && scene.value.answers.count + scene.value.failures.count == 200
            }
            try await loop.run {
                #expect(scene.value.failures.values.allSatisfy { $0 == .notProcessed(reason: "REFUSED_STREAM") })
                #expect(scene.value.pool?.capacity(forBodiesOf: 1) == 3)
            }
        }
    }

    @Test("SETTINGS that come late delay the first request, and too late ones fail the attempt")
    func lateSettings() async throws {
        try await withSimulator(try options(#"{"settings_delay_ms": 200}"#)) { loop, scene in
            let start = try await loop.run {
                try scene.value.connect(to: scene.value.simulator.fcmURL)
                scene.value.push(scene.value.apnsRequest(), tags: [1])
                return loop.now
            }
            try await loop.wait(for: "the answer") { scene.value.answers.count == 1 }
            try await loop.run {
                #expect(loop.now - start >= .milliseconds(200))
                scene.value.simulator.setConduct(try Conduct(Array(#"{"settings_delay_ms": 60000}"#.utf8)))
                try scene.value.connect(to: scene.value.simulator.fcmURL) { $0.settingsDeadline = .milliseconds(100) }
                scene.value.push(scene.value.apnsRequest(), tags: [2])
            }
            try await loop.wait(for: "the failure") {
                scene.value.events.contains { event in
                    guard case .connectFailed(let reason, _) = event else { return false }
                    return reason == "the server sent no SETTINGS within 0.1 seconds"
                }
            }
        }
    }

    @Test("PINGs get no answer, and connections are refused, if so told")
    func ignoredPings() async throws {
        try await withSimulator(try options(#"{"ignore_pings": true}"#)) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) {
                    $0.pingInterval = .milliseconds(50)
                    $0.pingDeadline = .milliseconds(200)
                }
                scene.value.push(scene.value.apnsRequest(), tags: [1])
            }
            try await loop.wait(for: "the end") {
                scene.value.events.contains(
                    .closed(reason: "no sign of life from the server within 0.2 seconds of a PING")
                )
            }
            try await loop.run {
                scene.value.simulator.setConduct(try Conduct(Array(#"{"refuse_connections": true}"#.utf8)))
                scene.value.push(scene.value.apnsRequest(), tags: [2])
            }
            try await loop.wait(for: "the refusal") {
                guard case .connectFailed = scene.value.events.last else { return false }
                return true
            }
            try await loop.run { scene.value.simulator.setConduct(Conduct()) }
            try await loop.wait(for: "the answer") { scene.value.answers.count == 2 }
        }
    }

    @Test("The busiest connection is cut again and again, in each way", arguments: ["drop", "reset", "mute"])
    func cuts(cut: String) async throws {
        var options = try options(#"{"cut_every_ms": 150, "cut": "\#(cut)"}"#)
        options.distance = .milliseconds(20)
        try await withSimulator(options) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) {
                    $0.unprovenStreamLimit = 1
                    $0.pingInterval = .milliseconds(50)
                    $0.pingDeadline = .milliseconds(300)
                    $0.maximumConnections = 1
                }
                scene.value.push(scene.value.apnsRequest(), tags: 0..<10_000)
            }
            try await loop.wait(for: "two cuts") {
                scene.value.events.count { event in
                    guard case .closed = event else { return false }
                    return true
                } >= 2
            }
            try await loop.run {
                let unanswered = scene.value.failures.values.contains { failure in
                    guard case .unanswered = failure else { return false }
                    return true
                }
                #expect(unanswered || !scene.value.failures.isEmpty)
            }
        }
    }

    @Test("An answer may be the last one of its connection")
    func sequels() async throws {
        let script = #"""
            [{"device": "01", "status": 503, "reason": "Shutdown", "then": "goaway",
              "goaway_data": {"reason": "Shutdown"}},
             {"device": "02", "status": 200, "then": "drop"}, {"device": "03", "fault": "reset"},
             {"device": "04", "status": 429, "retry_after_date": 30, "headers": {"X-Extra": "1"}}]
            """#
        try await withSimulator(try options("{}", script: script)) { loop, scene in
            for (tag, device) in ["01", "02", "03", "04"].enumerated() {
                try await loop.run {
                    try scene.value.connect(to: scene.value.simulator.apnsProductionURL)
                    scene.value.push(scene.value.apnsRequest(device: device), tags: [tag])
                }
                try await loop.wait(for: "the outcome") {
                    scene.value.answers[tag] != nil || scene.value.failures[tag] != nil
                }
            }
            try await loop.run {
                #expect(scene.value.answers[0]?.status == 503 && scene.value.answers[1]?.status == 200)
                #expect(scene.value.failures[2] == .unanswered(reason: "the peer reset the stream: INTERNAL_ERROR"))
                #expect(scene.value.answers[3]?.header("retry-after")?.hasSuffix(" GMT") == true)
                #expect(scene.value.answers[3]?.header("x-extra") == "1")
            }
            try await loop.wait(for: "the goodbye") {
                scene.value.events.contains { event in
                    guard case .goAway(let goAway) = event else { return false }
                    return goAway.debugData == Array(#"{"reason": "Shutdown"}"#.utf8)
                }
            }
        }
    }

    @Test("A wrong certificate of each kind is refused", arguments: SimulatorOptions.CertificateFault.allCases)
    func wrongCertificate(fault: SimulatorOptions.CertificateFault) async throws {
        var options = SimulatorOptions()
        options.certificateFault = fault
        try await withSimulator(options) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL)
                scene.value.push(scene.value.apnsRequest(), tags: [1])
            }
            try await loop.wait(for: "the failure") { !scene.value.events.isEmpty }
            try await loop.run {
                guard case .connectFailed(let reason, _) = scene.value.events[0] else {
                    Issue.record("unexpected: \(scene.value.events)")
                    return
                }
                #expect(reason.hasPrefix("TLS: "))
            }
        }
    }
}
