import Encoding
import HTTP2
import Simulator
import TestSupport
import Testing
import Transport

@Suite("The stand-ins for FCM and the token endpoint, and the control interface", .timeLimit(.minutes(1)))
struct SimulatorFCMTests {
    private static let message = #"{"token":"device-1","notification":{"title":"x"}}"#

    /// An access token, asked for as Google's libraries do.
    private func accessToken(_ loop: EventLoop, _ scene: LoopConfined<SimulatorScene>) async throws -> String {
        let (url, form, authority) = try await loop.run {
            let simulator = scene.value.simulator
            let now = currentUnixMilliseconds() / 1000
            let assertion = try SignedToken.make(keyID: "k", key: simulator.credentials.serviceAccountKey) {
                for (name, value) in [
                    ("iss", simulator.credentials.clientEmail), ("aud", simulator.tokenURL),
                    ("scope", TokenEndpointCheck.scope),
                ] {
                    $0.key(name)
                    $0.string(value)
                }
                $0.key("iat")
                $0.integer(now)
                $0.key("exp")
                $0.integer(now + 3600)
            }
            let form =
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
                + String(decoding: assertion, as: UTF8.self)
            return (simulator.tokenURL, form, simulator.credentials.authority.certificatePEM)
        }
        let answer = try await call("POST", url, body: form, authority: authority)
        #expect(answer.status == 200)
        return try #require(try JSONDocument(answer.body).root["access_token"]?.string)
    }

    @Test("A push with a fetched access token is accepted and named; one without is not")
    func accepted() async throws {
        try await withSimulator { loop, scene in
            let token = try await accessToken(loop, scene)
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.fcmURL)
                scene.value.push(
                    scene.value.fcmRequest(accessToken: token, message: Self.message),
                    tags: 1...300
                )
                scene.value.push(scene.value.fcmRequest(accessToken: "x", message: Self.message), tags: [1000])
                scene.value.push(
                    scene.value.fcmRequest(accessToken: token, message: #"{"token":"d","extra":1}"#),
                    tags: [1001]
                )
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 302 }
            try await loop.run {
                for tag in 1...300 { #expect(scene.value.answers[tag]?.status == 200) }
                let name = try JSONDocument(scene.value.answers[1]?.body ?? []).root["name"]?.string
                #expect(name?.hasPrefix("projects/simulated/messages/") == true)
                #expect(scene.value.answers[1000]?.status == 401)
                #expect(scene.value.answers[1001]?.status == 400)
                let body = String(decoding: scene.value.answers[1001]?.body ?? [], as: UTF8.self)
                #expect(body.contains("fieldViolations") && body.contains("extra"))
                #expect(scene.value.received.count == 302)
                #expect(scene.value.received.first?["device"]?.string == "device-1")
            }
        }
    }

    @Test("An assertion of another key gets no access token")
    func wrongKey() async throws {
        try await withSimulator { loop, scene in
            let (url, authority) = try await loop.run {
                (scene.value.simulator.tokenURL, scene.value.simulator.credentials.authority.certificatePEM)
            }
            let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c"
            let answer = try await call("POST", url, body: form, authority: authority)
            #expect(answer.status == 400)
            #expect(try JSONDocument(answer.body).root["error"]?.string == "invalid_grant")
        }
    }

    @Test("A client that opens more streams than it may is sent away in Google's words")
    func tooManyStreams() async throws {
        try await withSimulator { loop, scene in
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.fcmURL)
                scene.value.pool?.connectIfNeeded()
            }
            try await loop.wait(for: "the connection") { scene.value.pool?.readyCount == 1 }
            try await loop.run {
                scene.value.simulator.setStreamLimit(3)
                // In the same turn: the client cannot know of the new limit.
                scene.value.push(scene.value.fcmRequest(accessToken: "x", message: Self.message), tags: 1...20)
            }
            try await loop.wait(for: "all outcomes") { scene.value.answers.count + scene.value.failures.count == 20 }
            try await loop.run {
                #expect(scene.value.answers.count == 3)
                #expect(scene.value.failures.values.allSatisfy { $0 == .notProcessed(reason: "GOAWAY") })
                let isSentAway = scene.value.events.contains { event in
                    guard case .goAway(let goAway) = event else { return false }
                    return goAway.debugData == Array("exceeded_max_concurrent_streams".utf8)
                }
                #expect(isSentAway)
            }
        }
    }

    @Test("The control interface scripts, shows and forgets, drops and sends away")
    func control() async throws {
        try await withSimulator { loop, scene in
            let url = try await loop.run { scene.value.simulator.controlURL }
            #expect(try await call("POST", "\(url)/script", body: #"[{"status": 500}]"#).status == 200)
            let refused = try await call("POST", "\(url)/script", body: #"[{"statsu": 500}]"#)
            #expect(refused.status == 400 && refused.body.contains("statsu"))
            #expect(try await call("GET", "\(url)/nothing").status == 404)
            try await loop.run {
                try scene.value.connect(to: scene.value.simulator.apnsProductionURL)
                scene.value.push(scene.value.apnsRequest(), tags: [1])
            }
            try await loop.wait(for: "the answer") { scene.value.answers[1]?.status == 500 }
            #expect(try await call("GET", "\(url)/received").body.split(separator: "\n").count == 1)
            #expect(try await call("GET", "\(url)/received?from=0").body.contains(#""authority":"localhost""#))
            #expect(try await call("GET", "\(url)/received?from=1").body.isEmpty)
            #expect(try await call("GET", "\(url)/received?from=-1").status == 400)
            #expect(try await call("POST", "\(url)/connections/goaway", body: #"{"reason":"Shutdown"}"#).status == 200)
            try await loop.wait(for: "GOAWAY") {
                scene.value.events.contains(
                    .goAway(
                        HTTP2GoAway(
                            lastStreamID: 1,
                            errorCode: .noError,
                            debugData: Array(#"{"reason":"Shutdown"}"#.utf8)
                        )
                    )
                )
            }
            #expect(try await call("POST", "\(url)/connections/streams?limit=7", body: "").status == 200)
            #expect(try await call("POST", "\(url)/connections/streams?limit=many", body: "").status == 400)
            #expect(try await call("POST", "\(url)/reset", body: "").status == 200)
            #expect(try await call("GET", "\(url)/received").body.isEmpty)
            try await loop.run { scene.value.push(scene.value.apnsRequest(), tags: [2]) }
            try await loop.wait(for: "an answer over another connection") { scene.value.answers[2]?.status == 200 }
            let ends = try await loop.run { scene.value.events.count }
            #expect(try await call("POST", "\(url)/connections/drop", body: "").status == 200)
            try await loop.wait(for: "the end") { scene.value.events.count > ends }
        }
    }
}
