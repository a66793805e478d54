import Encoding
import Testing

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
}
