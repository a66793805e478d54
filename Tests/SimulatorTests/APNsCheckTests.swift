import Encoding
import Testing
import Transport

@testable import Simulator

@Suite("What the stand-in for APNs checks")
struct APNsCheckTests {
    private let key: SigningKey
    private let check: APNsCheck
    private let now: Int64 = 1_764_500_000

    init() throws {
        key = try SigningKey.generate(.es256)
        check = APNsCheck(tokens: APNsTokenCheck(key: key, keyID: "KEY1234567", teamID: "TEAM123456"))
    }

    private func bearer(issuedAt: Int64, keyID: String = "KEY1234567", key other: SigningKey? = nil) throws -> String {
        let token = try SignedToken.make(keyID: keyID, key: other ?? key) {
            $0.key("iss")
            $0.string("TEAM123456")
            $0.key("iat")
            $0.integer(issuedAt)
        }
        return "bearer " + String(decoding: token, as: UTF8.self)
    }

    private func request(
        method: String = "POST",
        path: String = "/3/device/ab12",
        changing changes: [String: String?] = [:],
        adding extra: [(name: String, value: String)] = [],
        body: String = #"{"aps":{"alert":"x"}}"#
    ) throws -> ReceivedRequest {
        var headers = [
            "authorization": try bearer(issuedAt: now), "apns-topic": "com.example.app", "apns-push-type": "alert",
            "apns-priority": "10", "apns-id": "6f0ab5a3-5b1c-4d7e-8a54-2f1e2b0c9d10",
        ]
        for (name, value) in changes { headers[name] = value }
        let list = headers.map { (name: $0.key, value: $0.value) } + extra
        return ReceivedRequest(method: method, path: path, headers: list, body: Array(body.utf8))
    }

    private func reason(_ request: ReceivedRequest) -> String? {
        var memory = APNsTokenCheck.Memory()
        return check.refusal(of: request, now: now, memory: &memory)?.reason
    }

    @Test("A good request is accepted")
    func good() throws {
        #expect(reason(try request()) == nil)
        let background = ["apns-push-type": "background", "apns-priority": "5"]
        #expect(reason(try request(changing: background)) == nil)
        #expect(reason(try request(changing: ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"])) == nil)
    }

    @Test(
        "Each fault is answered with Apple's reason",
        arguments: [
            ("apns-topic", nil, "MissingTopic"), ("apns-topic", "a b", "BadTopic"),
            ("apns-push-type", "x", "InvalidPushType"),
            ("apns-push-type", "voip", "TopicDisallowed"), ("apns-push-type", "background", "BadPriority"),
            ("apns-priority", "7", "BadPriority"), ("apns-id", "x", "BadMessageId"),
            ("apns-expiration", "soon", "BadExpirationDate"),
            ("apns-id", "6F0AB5A3-5B1C-4D7E-8A54-2F1E2B0C9D10", "BadMessageId"),
            ("apns-collapse-id", String(repeating: "x", count: 65), "BadCollapseId"),
            ("authorization", nil, "MissingProviderToken"),
            ("authorization", "bearer a.b.c", "InvalidProviderToken"),
            ("authorization", "basic x", "InvalidProviderToken"),
        ] as [(String, String?, String)]
    )
    func headers(name: String, value: String?, expected: String) throws {
        #expect(reason(try request(changing: [name: value])) == expected)
    }

    @Test(
        "Path, method and body are checked",
        arguments: [
            ("GET", "/3/device/ab", "{}", "MethodNotAllowed"), ("POST", "/3/devices/ab", "{}", "BadPath"),
            ("POST", "/3/device/", "{}", "MissingDeviceToken"), ("POST", "/3/device/abc", "{}", "BadDeviceToken"),
            ("POST", "/3/device/xy", "{}", "BadDeviceToken"), ("POST", "/3/device/ab", "", "PayloadEmpty"),
            ("POST", "/3/device/ab", "{\"a\":\"\(String(repeating: "x", count: 4096))\"}", "PayloadTooLarge"),
        ]
    )
    func target(method: String, path: String, body: String, expected: String) throws {
        #expect(reason(try request(method: method, path: path, body: body)) == expected)
    }

    @Test("A header that is there twice is refused")
    func duplicates() throws {
        #expect(reason(try request(adding: [(name: "apns-topic", value: "com.example.app")])) == "DuplicateHeaders")
    }

    @Test("A token may be an hour old, not older, and not from the future")
    func age() throws {
        for (age, expected) in [(3600, nil), (3601, "ExpiredProviderToken"), (-61, "InvalidProviderToken")]
            as [(Int64, String?)]
        {
            let found = reason(try request(changing: ["authorization": try bearer(issuedAt: now - age)]))
            #expect(found == expected)
        }
    }

    @Test("A token of another key, or with another key's id, is refused")
    func foreignToken() throws {
        let other = try bearer(issuedAt: now, key: SigningKey.generate(.es256))
        #expect(reason(try request(changing: ["authorization": other])) == "InvalidProviderToken")
        let mislabelled = try bearer(issuedAt: now, keyID: "OTHER67890")
        #expect(reason(try request(changing: ["authorization": mislabelled])) == "InvalidProviderToken")
    }

    @Test("A connection that brings a second token within twenty minutes is told so; the first stays good")
    func tokenUpdates() throws {
        var memory = APNsTokenCheck.Memory()
        let first = try request(changing: ["authorization": try bearer(issuedAt: now - 1199)])
        #expect(check.refusal(of: first, now: now, memory: &memory) == nil)
        let early = check.refusal(of: try request(), now: now, memory: &memory)
        #expect(early?.reason == "TooManyProviderTokenUpdates" && early?.status == 429)
        #expect(check.refusal(of: first, now: now, memory: &memory) == nil)
        let late = try request(changing: ["authorization": try bearer(issuedAt: now + 1)])
        #expect(check.refusal(of: late, now: now + 1, memory: &memory) == nil)
    }

    // MARK: Certificates and several keys

    private func certificate(_ topics: [String], _ numbers: [String] = []) throws -> APNsCertificateCheck {
        let others = numbers.map { (number: $0, value: [UInt8(0x05), 0x00]) }
        return APNsCertificateCheck(try SimulatorCredentials().certificate(topics: topics, others: others).facts())
    }

    @Test(
        "A certificate needs no token, and is good for its topics and environment",
        arguments: [
            ("com.a", "alert", "production", nil), ("com.a.voip", "voip", "development", nil),
            ("com.b", "alert", "production", "TopicDisallowed"),
            ("com.a.complication", "complication", "production", "TopicDisallowed"),
            (nil, "alert", "production", "MissingTopic"),
        ] as [(String?, String, String, String?)]
    )
    func certificates(topic: String?, type: String, environment: String, reason: String?) throws {
        let headers = [("apns-topic", topic), ("apns-push-type", type), ("authorization", "bearer nonsense")]
        let request = ReceivedRequest(
            method: "POST",
            path: "/3/device/ab12",
            headers: headers.compactMap { name, value in value.map { (name: name, value: $0) } },
            body: Array("{}".utf8)
        )
        var memory = APNsTokenCheck.Memory()
        let refusal = check.refusal(
            of: request,
            now: now,
            environment: environment,
            certificate: try certificate(["com.a", "com.a.voip"]),
            memory: &memory
        )
        #expect(refusal?.reason == reason)
    }

    @Test("A certificate for one topic needs none in the request, and one for development is for that alone")
    func singleTopic() throws {
        let certificate = try certificate(["com.a"], ["1.2.840.113635.100.6.3.1"])
        let request = ReceivedRequest(method: "POST", path: "/3/device/ab12", headers: [], body: Array("{}".utf8))
        var memory = APNsTokenCheck.Memory()
        for (environment, reason) in [("development", nil), ("production", "BadCertificateEnvironment")] {
            let refusal = check.refusal(
                of: request,
                now: now,
                environment: environment,
                certificate: certificate,
                memory: &memory
            )
            #expect(refusal?.reason == reason)
        }
    }

    @Test("A connection belongs to the first key that was used on it, and a key to its environment")
    func severalKeys() throws {
        let keys = try ["KEYAAAAAAA", "KEYBBBBBBB"].map { name in
            APNsTokenCheck.Key(
                key: try SigningKey.generate(.es256),
                keyID: name,
                teamID: "TEAM123456",
                environments: name == "KEYAAAAAAA" ? [] : ["production"]
            )
        }
        let check = APNsTokenCheck(keys: keys)
        func header(_ key: APNsTokenCheck.Key) throws -> String {
            let token = try SignedToken.make(keyID: key.keyID, key: key.key) {
                $0.key("iss")
                $0.string(key.teamID)
                $0.key("iat")
                $0.integer(now)
            }
            return "bearer " + String(decoding: token, as: UTF8.self)
        }
        var memory = APNsTokenCheck.Memory()
        func reason(_ key: Int, _ environment: String) throws -> String? {
            let header = try header(keys[key])
            return check.refusal(ofAuthorization: header, now: now, environment: environment, memory: &memory)?.reason
        }
        #expect(try reason(0, "production") == nil)
        #expect(try reason(1, "production") == "UnrelatedKeyIdInToken")
        memory = APNsTokenCheck.Memory()
        #expect(try reason(1, "development") == "BadEnvironmentKeyInToken")
        #expect(try reason(1, "production") == nil)
    }
}
