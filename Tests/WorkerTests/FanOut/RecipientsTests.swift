import Testing

@testable import Worker

@Suite("Who of a registration set gets a push")
struct RecipientsTests {
    private func decide(
        _ members: [String],
        kind: RegistrationKind = .apns(environment: .production, topic: "com.example.app"),
        excluding exclusions: Set<String> = []
    ) -> [Recipients.Decision] {
        var recipients = Recipients(kind: kind, exclusions: Set(exclusions.map { Array($0.utf8) }))
        return members.map { recipients.decide(Array($0.utf8)) }
    }

    private func device(_ token: String, stored: String? = nil) -> Recipients.Decision {
        .device(token: Array(token.utf8), stored: stored.map { Array($0.utf8) })
    }

    @Test("An APNs member in upper case is sent in lower case and remembered as stored")
    func upperCase() {
        #expect(decide(["AB12", "cd34"]) == [device("ab12", stored: "AB12"), device("cd34")])
    }

    @Test("A device gets one push, also when it stands in the set in two spellings or is met twice")
    func repeated() {
        #expect(decide(["ab12", "AB12", "ab12"]) == [device("ab12"), .repeated, .repeated])
        #expect(decide(["t", "T", "t"], kind: .fcm) == [device("t"), device("T"), .repeated])
    }

    @Test("Exclusions hold for every spelling of an APNs token, and exactly for FCM")
    func excluded() {
        #expect(decide(["AB12", "cd34"], excluding: ["ab12"]) == [.excluded, device("cd34")])
        #expect(decide(["Tok", "tok"], kind: .fcm, excluding: ["tok"]) == [device("Tok"), .excluded])
    }

    @Test(
        "What cannot be a token never reaches a request",
        arguments: ["", "abc", "xy", "ab 1", String(repeating: "a", count: 202)]
    )
    func unusable(member: String) {
        #expect(decide([member, member]) == [.unusable, .repeated])
    }

    @Test("An FCM token may have 4096 bytes and no control characters")
    func fcmTokens() {
        let longest = String(repeating: "x", count: 4096)
        #expect(
            decide([longest, longest + "x", "", "a\nb"], kind: .fcm) == [
                device(longest), .unusable, .unusable, .unusable,
            ]
        )
    }
}
