import Encoding
import HTTP2
import Simulator
import TestSupport
import Testing
import Transport

@Suite("The stand-in for APNs, over TLS", .timeLimit(.minutes(1)))
struct SimulatorAPNsTests {
    @Test("A push is accepted with its apns-id and kept with its headers, body and time")
    func accepted() async throws {
        try await withSimulator { loop, scene in
            let start = currentUnixMilliseconds() * 1000
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL)
                scene.value.push(scene.value.apnsRequest(), tags: [1])
            }
            try await loop.wait(for: "the answer") { scene.value.answers.count == 1 }
            try await loop.run {
                let answer = try #require(scene.value.answers[1])
                #expect(answer.status == 200 && answer.body.isEmpty)
                #expect(answer.header("apns-id")?.utf8.count == 36)
                let line = try #require(scene.value.received.first)
                #expect(line["gateway"]?.string == "apns" && line["environment"]?.string == "production")
                #expect(line["device"]?.string == "0a1b" && line["path"]?.string == "/3/device/0a1b")
                #expect(line["headers"]?["apns-topic"]?.string == "com.example.app")
                #expect(line["body"]?.string == #"{"aps":{"alert":"x"}}"#)
                #expect(line["status"]?.integer == 200)
                #expect((line["time_us"]?.integer ?? 0) >= start)
            }
        }
    }

    @Test("A connection has one stream until a good token came, then a thousand")
    func streams() async throws {
        try await withSimulator { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsDevelopmentURL) { $0.maximumConnections = 1 }
                scene.value.push(scene.value.apnsRequest(token: "bearer x.y.z"), tags: [1])
                scene.value.push(scene.value.apnsRequest(), tags: 2..<1502)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 1501 }
            try await loop.run {
                #expect(scene.value.events == [.connected(streams: 1)])
                #expect(scene.value.answers[1]?.status == 403)
                #expect(scene.value.answers[1]?.body == Array(#"{"reason":"InvalidProviderToken"}"#.utf8))
                #expect(scene.value.answers.values.count { $0.status == 200 } == 1500)
                #expect(scene.value.pool?.capacity(forBodiesOf: 1) == 1000)
            }
        }
    }

    @Test("Tokens are checked for their age, and a second one on a connection comes too soon")
    func tokens() async throws {
        try await withSimulator { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) { $0.unprovenStreamLimit = 1 }
                for (tag, age) in [(1, 3700), (2, 100), (3, 50), (4, 100), (5, 3000)] as [(Int, Int64)] {
                    let token = try scene.value.providerToken(age: age)
                    scene.value.push(scene.value.apnsRequest(token: token), tags: [tag])
                }
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 5 }
            try await loop.run {
                let reasons = scene.value.answers.sorted { $0.key < $1.key }
                    .map { String(decoding: $0.value.body, as: UTF8.self) }
                #expect(
                    reasons == [
                        #"{"reason":"ExpiredProviderToken"}"#, "", #"{"reason":"TooManyProviderTokenUpdates"}"#,
                        // Signatures differ although the claims are the same: it is another token.
                        #"{"reason":"TooManyProviderTokenUpdates"}"#, "",
                    ]
                )
            }
        }
    }

    @Test("Scripted answers go to the devices they are for, as often as they are to")
    func script() async throws {
        var options = SimulatorOptions()
        options.script = try Script(
            Array(
                #"""
                [{"device": "AA01", "status": 410, "reason": "Unregistered", "timestamp": 1764500000000},
                 {"device": "aa02", "status": 429, "reason": "TooManyRequests", "retry_after": 7, "times": 1},
                 {"device": "aa03", "status": 502, "body": "<html>"},
                 {"gateway": "fcm", "status": 503}]
                """#.utf8
            )
        )
        try await withSimulator(options) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL)
                for (tag, device) in ["aa01", "aa02", "aa02", "aa03", "aa04"].enumerated() {
                    scene.value.push(scene.value.apnsRequest(device: device), tags: [tag])
                }
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 5 }
            try await loop.run {
                let answers = scene.value.answers
                #expect(answers[0]?.status == 410)
                #expect(answers[0]?.body == Array(#"{"reason":"Unregistered","timestamp":1764500000000}"#.utf8))
                #expect(answers[1]?.status == 429 && answers[1]?.header("retry-after") == "7")
                #expect(answers[2]?.status == 200)
                #expect(answers[3]?.status == 502 && answers[3]?.body == Array("<html>".utf8))
                #expect(answers[4]?.status == 200)
            }
        }
    }

    @Test("Faults of a script: refused, dropped, sent away, silent")
    func faults() async throws {
        var options = SimulatorOptions()
        options.script = try Script(
            Array(
                #"""
                [{"device": "01", "fault": "refuse"}, {"device": "02", "fault": "drop"},
                 {"device": "03", "fault": "goaway"}, {"device": "04", "fault": "silent"},
                 {"device": "05", "delay_ms": 150}]
                """#.utf8
            )
        )
        try await withSimulator(options) { loop, scene in
            let expected: [(String, HTTP2Failure?)] = [
                ("01", .notProcessed(reason: "REFUSED_STREAM")), ("02", nil),
                ("03", .notProcessed(reason: "GOAWAY")),
                ("04", .unanswered(reason: "no answer within 1.0 seconds")),
            ]
            for (tag, (device, failure)) in expected.enumerated() {
                try await loop.run {
                    try scene.value.connect(to: scene.value.simulator.apnsProductionURL) {
                        $0.answerDeadline = .seconds(1)
                        $0.unprovenStreamLimit = 1
                    }
                    scene.value.push(scene.value.apnsRequest(), tags: [100 + tag])
                    scene.value.push(scene.value.apnsRequest(device: device), tags: [tag])
                }
                try await loop.wait(for: "the failure of \(device)") { scene.value.failures.count == tag + 1 }
                try await loop.run {
                    if let failure {
                        #expect(scene.value.failures[tag] == failure)
                    } else {
                        guard case .unanswered = scene.value.failures[tag] else {
                            Issue.record("unexpected: \(String(describing: scene.value.failures[tag]))")
                            return
                        }
                    }
                }
            }
            let start = try await loop.run {
                scene.value.push(scene.value.apnsRequest(device: "05"), tags: [5])
                return loop.now
            }
            try await loop.wait(for: "the late answer") { scene.value.answers[5] != nil }
            try await loop.run { #expect(loop.now - start >= .milliseconds(150)) }
        }
    }

    @Test("A lean stand-in answers without checks and counts")
    func lean() async throws {
        var options = SimulatorOptions()
        options.isLean = true
        options.isRecording = false
        try await withSimulator(options) { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL)
                scene.value.push(scene.value.apnsRequest(token: "none"), tags: 0..<3000)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 3000 }
            let url = try await loop.run { scene.value.simulator.controlURL }
            let statistics = try JSONDocument(try await call("GET", "\(url)/stats").body).root
            #expect(statistics["apns"]?.integer == 3000 && statistics["fcm"]?.integer == 0)
            let first = try #require(statistics["first_us"]?.integer)
            #expect(try #require(statistics["last_us"]?.integer) >= first)
            #expect((statistics["connections"]?.integer ?? 0) >= 1)
        }
    }

    @Test("A distance holds back answers and credit")
    func distance() async throws {
        var options = SimulatorOptions()
        options.distance = .milliseconds(30)
        try await withSimulator(options) { loop, scene in
            let start = try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL) { $0.maximumConnections = 1 }
                let body = #"{"aps":{"alert":"\#(String(repeating: "x", count: 4000))"}}"#
                scene.value.push(scene.value.apnsRequest(body: body), tags: 0..<100)
                return loop.now
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 100 }
            // 16 bodies fill the window; credit comes back in halves of it, each 30 ms later.
            try await loop.run { #expect(loop.now - start >= .milliseconds(30 * 6)) }
        }
    }
}
