import Testing

@testable import Worker

@Suite("What may be registered")
struct RegistrationRulesTests {
    static let token = String(repeating: "0aF9", count: 16)

    @Test("An APNs token is registered in lower case, an FCM token as it is")
    func tokens() throws {
        #expect(try RegistrationKind.apnsLegacy.token(Self.token) == Array(Self.token.lowercased().utf8))
        #expect(try RegistrationKind.fcm.token("dA:APA91b_-x") == Array("dA:APA91b_-x".utf8))
        #expect(try RegistrationKind.apnsLegacy.token(String(repeating: "a", count: 200)).count == 200)
        #expect(try RegistrationKind.fcm.token(String(repeating: "a", count: 4096)).count == 4096)
    }

    @Test(
        "A token that cannot be one is refused with what is wrong with it",
        arguments: [
            (RegistrationKind.apnsLegacy, "", "empty"),
            (.apnsLegacy, "abc", "odd number"),
            (.apnsLegacy, "abxz", "\"x\" at place 3"),
            (.apnsLegacy, "<ab cd>", "\"<\" at place 1"),
            (.apnsLegacy, "ab\u{1F600}c", "\"\u{1F600}\" at place 3"),
            (.apnsLegacy, "ab\ncd", "\"\\u{A}\" at place 3"),
            (.apnsLegacy, "dA:APA91b", "--fcm"),
            (.apnsLegacy, String(repeating: "ab", count: 101), "200 at most"),
            (.fcm, "", "empty"),
            (.fcm, "a\u{0}b", "control characters"),
            (.fcm, "a\u{7F}b", "control characters"),
            (.fcm, String(repeating: "a", count: 4097), "4096 at most"),
        ] as [(RegistrationKind, String, String)]
    )
    func refusedTokens(kind: RegistrationKind, token: String, part: String) {
        let error = #expect(throws: RegistrationRefusal.self) { try kind.token(token) }
        let sentence = error?.description ?? ""
        #expect(sentence.contains(part), "\(sentence)")
    }

    @Test(
        "An environment may be written in any letter case; sandbox is development",
        arguments: [
            ("production", APNsEnvironment.production), ("Production", .production), ("DEVELOPMENT", .development),
            ("sandbox", .development),
        ]
    )
    func environments(name: String, environment: APNsEnvironment) throws {
        let kind = try RegistrationKind.apns(environment: name, topic: "com.example.App_1-x")
        #expect(kind == .apns(environment: environment, topic: "com.example.App_1-x"))
    }

    @Test(
        "An environment or a topic that cannot be one is refused",
        arguments: [
            ("prod", "a"), ("", "a"), ("production", ""), ("production", "a b"), ("production", "a:b"),
            ("production", "a}"), ("production", "\u{E9}"), ("production", String(repeating: "a", count: 256)),
        ]
    )
    func refusedKinds(environment: String, topic: String) {
        #expect(throws: RegistrationRefusal.self) {
            try RegistrationKind.apns(environment: environment, topic: topic)
        }
    }

    @Test(
        "A kind is known again by the end of its keys",
        arguments: [
            RegistrationKind.fcm, .apnsLegacy, .apns(environment: .production, topic: "com.example.app"),
            .apns(environment: .development, topic: "x"),
        ]
    )
    func suffixes(kind: RegistrationKind) {
        #expect(RegistrationKind(keySuffix: kind.keySuffix) == kind)
    }

    @Test(
        "Other ends of keys mean no kind",
        arguments: [
            "", ":", ":fcm:x", ":apns:", ":apns:production", ":apns:production:", ":apns:other:x",
            ":apns:production:a b",
        ]
    )
    func unknownSuffixes(text: String) {
        #expect(RegistrationKind(keySuffix: Array(text.utf8)) == nil)
    }

    @Test("Keys are those of the contract")
    func keys() {
        let keys = RedisKeys(prefix: "push:")
        let kind = RegistrationKind.apns(environment: .production, topic: "com.example.app")
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        let channel = Array("ch}1".utf8)
        #expect(text(keys.registrations(channel: channel, kind: kind)) == "push:{ch}1}:apns:production:com.example.app")
        #expect(text(keys.registrations(channel: channel, kind: .apnsLegacy)) == "push:{ch}1}:apns")
        #expect(text(keys.registrations(channel: channel, kind: .fcm)) == "push:{ch}1}:fcm")
        #expect(
            text(keys.device(token: [0x61, 0x62], kind: kind)) == "push:device:{ab}:apns:production:com.example.app"
        )
        #expect(text(keys.device(token: [0x61, 0x62], kind: .fcm)) == "push:device:{ab}:fcm")
        #expect(text(keys.messages) == "push:{queue}:messages")
        #expect(text(keys.marks) == "push:{queue}:marks")
    }

    @Test(
        "Members of sets are checked before they are used",
        arguments: [
            (RegistrationKind.apnsLegacy, "AB01", true), (.apnsLegacy, "", false), (.apnsLegacy, "abc", false),
            (.apnsLegacy, "zz", false), (.fcm, "x y", true), (.fcm, "", false), (.fcm, "a\n", false),
            (.fcm, "é🚀", true), (.fcm, "a\u{7F}", false), (.fcm, "a\u{85}b", false),
        ] as [(RegistrationKind, String, Bool)]
    )
    func members(kind: RegistrationKind, member: String, isUsable: Bool) {
        #expect(kind.isUsableMember(Array(member.utf8)) == isUsable)
    }

    @Test("An FCM member that is no UTF-8 is no token: no JSON text could carry it unchanged")
    func memberWithoutUTF8() {
        #expect(!RegistrationKind.fcm.isUsableMember([0x61, 0xFF, 0xFE]))
        #expect(!RegistrationKind.fcm.isUsableMember([0x61, 0xC3]))
    }
}
