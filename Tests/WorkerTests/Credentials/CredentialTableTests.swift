import Testing
import Transport
import Worker

@Suite struct CredentialTableTests {
    private static let now = currentUnixMilliseconds() / 1000

    /// A key with what it is for.
    private static func key(
        _ name: String,
        _ topics: [String] = [],
        _ environments: Set<APNsEnvironment> = [.development, .production],
        isFallback: Bool = false
    ) throws -> Credential {
        Credential(
            try CredentialSamples.key(name),
            origin: name,
            environments: environments,
            topics: topics.map { GlobPattern($0) },
            isFallback: isFallback
        )
    }

    private static func need(
        _ topic: String,
        _ environment: APNsEnvironment = .production,
        method: APNsAuthMethod = .token,
        suffix: String = ""
    ) -> CredentialTable.Need {
        .apns(
            CredentialTable.APNsNeed(
                method: method,
                environment: environment,
                topic: topic,
                requestTopic: topic + suffix,
                bundle: topic
            )
        )
    }

    @Test(
        "The closest key is taken",
        arguments: [
            ("com.a", APNsEnvironment.production, "exact"), ("com.a", .development, "exact"),
            ("com.b", .production, "production"), ("com.b", .development, "for com"),
            ("com.shop.x", .production, "for shops"), ("com.other", .production, "for com"),
            ("org.x", .production, "any"), ("org.x", .development, "sandbox"),
        ]
    )
    func keys(topic: String, environment: APNsEnvironment, name: String) throws {
        let table = CredentialTable([
            try Self.key("single", isFallback: true),
            try Self.key("any"),
            try Self.key("sandbox", [], [.development]),
            try Self.key("for com", ["com.*"]),
            try Self.key("for shops", ["x", "com.shop.*"]),
            try Self.key("exact", ["com.x", "com.a"]),
            try Self.key("too late", ["com.a"]),
            try Self.key("production", ["com.b"], [.production]),
        ])
        let choice = table.choose(for: Self.need(topic, environment), unixSeconds: Self.now)
        guard case .credential(let index) = choice else {
            Issue.record("\(choice)")
            return
        }
        #expect(table.credentials[index].origin == name)
    }

    @Test("The single variable is for what no entry is for")
    func fallback() throws {
        let table = CredentialTable([try Self.key("single", isFallback: true), try Self.key("com", ["com.*"])])
        #expect(table.choose(for: Self.need("org.x"), unixSeconds: Self.now) == .credential(0))
        #expect(table.choose(for: Self.need("com.x"), unixSeconds: Self.now) == .credential(1))
    }

    @Test("A key for an app is also for its topics with suffixes, written or added")
    func suffixes() throws {
        let table = CredentialTable([try Self.key("app", ["com.example.app"])])
        for need in [
            CredentialTable.APNsNeed(
                method: .token,
                environment: .production,
                topic: "com.example.app",
                requestTopic: "com.example.app.voip",
                bundle: "com.example.app"
            ),
            CredentialTable.APNsNeed(
                method: .token,
                environment: .production,
                topic: "com.example.app.voip",
                requestTopic: "com.example.app.voip",
                bundle: "com.example.app"
            ),
        ] {
            #expect(table.choose(for: .apns(need), unixSeconds: Self.now) == .credential(0))
        }
    }

    @Test("When no key fits, the sentence says what was looked for and what there is")
    func noKey() throws {
        let empty = CredentialTable([]).choose(for: Self.need("com.a"), unixSeconds: Self.now)
        #expect(empty == .none(reason: "NoCredential", text: "no APNs key is set (PUSHBRIDGE_APNS_KEY)"))
        let table = CredentialTable([
            try Self.key("KEY1", ["com.b", "com.c.*"], [.development]), try Self.key("KEY2", ["com.d"]),
        ])
        guard case .none(let reason, let text) = table.choose(for: Self.need("com.a"), unixSeconds: Self.now) else {
            Issue.record("one was chosen")
            return
        }
        #expect(reason == "NoCredential")
        for part in ["com.a in production", "key KEY1", "development", "com.b com.c.*", "key KEY2"] {
            #expect(text.contains(part), "\(text)")
        }
    }

    // MARK: Certificates

    private static func certificate(
        _ name: String,
        topics: [String],
        entry: [String] = [],
        _ environments: Set<APNsEnvironment> = [.development, .production],
        isFallback: Bool = false,
        seconds: ClosedRange<Int> = -3600...CredentialSamples.year
    ) throws -> Credential {
        Credential(
            try CredentialSamples.certificate(name, topics: topics, secondsFromNow: seconds),
            origin: name,
            environments: environments,
            topics: entry.map { GlobPattern($0) },
            isFallback: isFallback
        )
    }

    @Test(
        "A certificate is taken for the topics that it covers",
        arguments: [
            ("com.a", "", "a"), ("com.a", ".voip", "a"), ("com.b", "", "b"), ("com.c", "", "pattern"),
            ("com.d", "", "single"),
        ]
    )
    func certificates(topic: String, suffix: String, name: String) throws {
        let table = CredentialTable([
            try Self.certificate("single", topics: ["com.a", "com.b", "com.c", "com.d"], isFallback: true),
            try Self.certificate("pattern", topics: ["com.a", "com.b", "com.c"], entry: ["com.*"]),
            try Self.certificate("a", topics: ["com.a", "com.a.voip"]),
            try Self.certificate("b", topics: ["com.b"]),
        ])
        let need = Self.need(topic, method: .certificate, suffix: suffix)
        let choice = table.choose(for: need, unixSeconds: Self.now)
        guard case .credential(let index) = choice else {
            Issue.record("\(choice)")
            return
        }
        #expect(table.credentials[index].origin == name)
    }

    @Test("A key is never taken for a certificate, nor the other way round")
    func methods() throws {
        let keys = CredentialTable([try Self.key("key")])
        let none = CredentialTable.Choice.none(
            reason: "NoCredential",
            text: "the message asks for an APNs certificate, and none is set (PUSHBRIDGE_APNS_CERTIFICATE)"
        )
        #expect(keys.choose(for: Self.need("com.a", method: .certificate), unixSeconds: Self.now) == none)
        let certificates = CredentialTable([try Self.certificate("a", topics: ["com.a"])])
        guard case .none = certificates.choose(for: Self.need("com.a"), unixSeconds: Self.now) else {
            Issue.record("a certificate was taken")
            return
        }
    }

    @Test("A topic that no certificate covers is told what they have")
    func uncovered() throws {
        let table = CredentialTable([
            try Self.certificate("Apple A", topics: ["com.a", "com.a.voip"]),
            try Self.certificate("Apple B", topics: ["com.b"], entry: ["com.b*"]),
        ])
        let need = Self.need("com.a", method: .certificate, suffix: ".complication")
        guard case .none(let reason, let text) = table.choose(for: need, unixSeconds: Self.now) else {
            Issue.record("one was chosen")
            return
        }
        #expect(reason == "TopicDisallowed")
        #expect(text.contains("com.a.complication") && text.contains("com.a com.a.voip"), "\(text)")
        #expect(!text.contains("com.b"), "\(text)")
    }

    @Test("A certificate whose time is over is not taken, and the sentence says so")
    func ended() throws {
        let table = CredentialTable([try Self.certificate("old", topics: ["com.a"], seconds: -100...100)])
        let need = Self.need("com.a", method: .certificate)
        #expect(table.choose(for: need, unixSeconds: Self.now) == .credential(0))
        guard case .none(let reason, let text) = table.choose(for: need, unixSeconds: Self.now + 200) else {
            Issue.record("it was chosen")
            return
        }
        #expect(reason == "BadCertificate")
        #expect(text.contains("ended on 20") && text.contains("developer.apple.com"), "\(text)")
    }

    @Test("A certificate for one environment is not taken for the other")
    func environments() throws {
        let table = CredentialTable([try Self.certificate("sandbox", topics: ["com.a"], [.development])])
        let development = Self.need("com.a", .development, method: .certificate)
        #expect(table.choose(for: development, unixSeconds: Self.now) == .credential(0))
        let production = Self.need("com.a", .production, method: .certificate)
        guard case .none(_, let text) = table.choose(for: production, unixSeconds: Self.now) else {
            Issue.record("it was chosen")
            return
        }
        #expect(text.contains("com.a in production") && text.contains("development"), "\(text)")
    }

    // MARK: FCM

    @Test(
        "A project is chosen by channel",
        arguments: [
            ("shop.1", "shop"), ("shop.vip", "vip"), ("shop.vipx", "shop"), ("news", "any"), ("shop.sale.1", "sale"),
        ]
    )
    func projects(channel: String, project: String) throws {
        func entry(_ project: String, _ channels: [String]) throws -> Credential {
            Credential(
                try CredentialSamples.project(project),
                origin: project,
                channels: channels.map { GlobPattern($0) }
            )
        }
        let table = CredentialTable([
            Credential(try CredentialSamples.project("single"), origin: "single", isFallback: true),
            try entry("shop", ["x", "shop.*"]), try entry("vip", ["shop.vip"]), try entry("any", []),
            try entry("sale", ["shop.sale.*"]),
        ])
        let choice = table.choose(for: .fcm(channel: Array(channel.utf8)), unixSeconds: Self.now)
        guard case .credential(let index) = choice else {
            Issue.record("\(choice)")
            return
        }
        #expect(table.credentials[index].origin == project)
    }

    @Test("A channel without a project is told which there are")
    func noProject() throws {
        let empty = CredentialTable([]).choose(for: .fcm(channel: []), unixSeconds: Self.now)
        let text = "no FCM service account is set (PUSHBRIDGE_FCM_SERVICE_ACCOUNT)"
        #expect(empty == .none(reason: "NoCredential", text: text))
        let shop = Credential(
            try CredentialSamples.project("shop-app"),
            origin: "entry 1",
            channels: [GlobPattern("shop.*")]
        )
        let choice = CredentialTable([shop]).choose(for: .fcm(channel: Array("news\n".utf8)), unixSeconds: Self.now)
        guard case .none(let reason, let text) = choice else {
            Issue.record("it was chosen")
            return
        }
        #expect(reason == "NoCredential")
        #expect(text.contains(#"news\u{A}"#) && text.contains("project shop-app (entry 1, channels shop.*)"), "\(text)")
    }
}
