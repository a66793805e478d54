import Encoding
import Redis
import Testing
import Transport
import Worker

/// Files that exist only here, and what settings make of them.
struct SettingsInput {
    var environment: [String: String] = [:]
    var flags: [String: String] = [:]
    var files: [String: FileContents] = [:]

    /// Unix seconds.
    var now: Int64 = 1_796_032_800

    func read(_ scope: Setting.Scope = .all) throws(Settings.Problems) -> Settings {
        try Settings(environment: environment, flags: flags, scope: scope, unixSeconds: now) { path in
            files[path].map(Result.success) ?? .failure(.init(reason: "cannot be opened: No such file or directory"))
        }
    }

    /// What the settings say about keys, certificates and accounts.
    func credential<Value>(_ kind: (Credential.Kind) -> Value?) throws -> Value? {
        try read().credentials.compactMap { kind($0.kind) }.first
    }

    func apnsKey() throws -> APNsCredential? {
        try credential { if case .apnsKey(let key) = $0 { key } else { nil } }
    }

    func certificate() throws -> APNsCertificate? {
        try credential { if case .apnsCertificate(let certificate) = $0 { certificate } else { nil } }
    }

    func serviceAccount() throws -> FCMServiceAccount? {
        try credential { if case .fcm(let account) = $0 { account } else { nil } }
    }

    /// The sentences of everything that is wrong; none when nothing is.
    func problems(_ scope: Setting.Scope = .all) -> [String] {
        do {
            _ = try read(scope)
            return []
        } catch {
            return error.sentences
        }
    }
}

@Suite struct SettingsTests {
    @Test("Without anything set the defaults of the contract hold")
    func defaults() throws {
        let settings = try SettingsInput().read()
        #expect(settings.redis.endpoint == .tcp(host: "127.0.0.1", port: 6379))
        #expect(settings.prefix == "push:")
        #expect(settings.channels == ["*"])
        #expect(settings.debugChannel == "pndebug")
        #expect(settings.debug == .on)
        #expect(settings.credentials.isEmpty)
        #expect(settings.apns.defaultTopic == nil)
        #expect(settings.apns.defaultEnvironment == .development)
        #expect(settings.apns.url(of: .production).authority == "api.push.apple.com")
        #expect(settings.apns.url(of: .development).authority == "api.sandbox.push.apple.com")
        #expect(settings.fcm.url.authority == "fcm.googleapis.com")
        #expect(settings.extraCA == nil)
        #expect(settings.httpAddress?.description == "127.0.0.1:8080")
        #expect(settings.drain == .seconds(25))
        #expect(settings.logLevel == .info)
        #expect(settings.logFormat == .text)
        #expect(settings.warnings.count == 1)
    }

    @Test("Set values are taken")
    func values() throws {
        let settings = try SettingsInput(environment: [
            "PUSHBRIDGE_REDIS_URL": "redis://user:secret@cache:7000/3",
            "PUSHBRIDGE_PREFIX": "app1:",
            "PUSHBRIDGE_CHANNELS": "shop.*, news ,shop.*",
            "PUSHBRIDGE_DEBUG_CHANNEL": "{channel}-pndebug",
            "PUSHBRIDGE_DEBUG": "Short",
            "PUSHBRIDGE_APNS_DEFAULT_TOPIC": "com.example.app",
            "PUSHBRIDGE_APNS_DEFAULT_ENVIRONMENT": "production",
            "PUSHBRIDGE_APNS_PRODUCTION_URL": "https://localhost:2197/",
            "PUSHBRIDGE_APNS_DEVELOPMENT_URL": "https://[::1]:8443",
            "PUSHBRIDGE_FCM_URL": "https://fcm.example.com:443",
            "PUSHBRIDGE_HTTP_ADDRESS": "off",
            "PUSHBRIDGE_DRAIN_SECONDS": "0", "PUSHBRIDGE_REMOVAL_BRAKE": "0.5", "PUSHBRIDGE_REMOVED_EVENTS": "1000",
            "PUSHBRIDGE_LOG": "debug",
            "PUSHBRIDGE_LOG_FORMAT": "json",
        ]).read()
        #expect(settings.redis.endpoint == .tcp(host: "cache", port: 7000))
        #expect(settings.redis.password == "secret")
        #expect(settings.prefix == "app1:")
        #expect(settings.channels == ["shop.*", "news"])
        #expect(settings.debugChannel == "{channel}-pndebug")
        #expect(settings.debug == .short)
        #expect(settings.plan.defaultTopic == "com.example.app")
        #expect(settings.plan.defaultEnvironment == .production)
        #expect(settings.apns.productionURL.authority == "localhost:2197")
        #expect(settings.apns.developmentURL.authority == "[::1]:8443")
        #expect(settings.fcm.url.authority == "fcm.example.com")
        #expect(settings.httpAddress == nil)
        #expect(settings.drain == .zero)
        #expect(settings.removalBrake == 0.5 && settings.removedEvents == 1000)
        #expect(settings.logLevel == .debug)
        #expect(settings.logFormat == .json)
    }

    @Test(
        "A wrong value is named, shown, and told what it may be",
        arguments: [
            ("REDIS_URL", "nonsense://x", #"is "nonsense://x", but"#, "redis://"),
            ("REDIS_URL", "redis+sentinel://a,b", "the Redis URL", "what the sentinels call"),
            ("REDIS_URL", "redis://host:99999", #"is "redis://host:99999""#, "port"),
            ("PREFIX", "a{b", #"is "a{b""#, "without braces"),
            ("PREFIX", "a\nb", #"is "a\u{A}b""#, "control characters"),
            ("CHANNELS", "a,,b", #"is "a,,b""#, "where a pattern is empty"),
            ("CHANNELS", ",", #"is ",""#, "patterns of Redis channels"),
            ("DEBUG_CHANNEL", "{channel}", "every channel its own debug channel", "it may be"),
            ("DEBUG_CHANNEL", "{channel}-{channel}", "more than once", "it may be"),
            ("DEBUG_CHANNEL", "push:{queue}:marks", "control channel", "choose another"),
            ("DEBUG", "loud", #"is "loud""#, "on, short"),
            ("APNS_KEY_ID", "SHORT", #"is "SHORT""#, "10 letters and digits"),
            ("APNS_TEAM_ID", "TEAM 56789", #"is "TEAM 56789""#, "10 letters and digits"),
            ("APNS_DEFAULT_TOPIC", "com/example", #"is "com/example""#, "bundle ID"),
            ("APNS_DEFAULT_ENVIRONMENT", "sandbox", #"is "sandbox""#, "development or production"),
            ("APNS_PRODUCTION_URL", "http://api.push.apple.com", #"is "http://api"#, "https://host"),
            ("APNS_DEVELOPMENT_URL", "https://host/path", #"is "https://host/path""#, "https://host"),
            ("APNS_DEVELOPMENT_URL", "https://host:0", #"is "https://host:0""#, "https://host"),
            ("FCM_URL", "https://user@host", #"is "https://user@host""#, "https://host"),
            ("CA", "no certificate", "is not usable", "BEGIN CERTIFICATE"),
            ("CA", "/etc/ca.pem", "PUSHBRIDGE_CA_FILE", "looks like the path"),
            ("HTTP_ADDRESS", "8080", #"is "8080""#, "or off"),
            ("HTTP_ADDRESS", "host:", #"is "host:""#, "or off"),
            ("REMOVAL_BRAKE", "1.5", #"is "1.5""#, "from 0 to 1"),
            ("REMOVAL_BRAKE", "nan", #"is "nan""#, "from 0 to 1"),
            ("REMOVED_EVENTS", "-1", #"is "-1""#, "from 0 (off) to"),
            ("DRAIN_SECONDS", "-1", #"is "-1""#, "from 0 to 3600"),
            ("DRAIN_SECONDS", "9999999999999999999999", "9999999999999999999999", "from 0 to 3600"),
            ("LOG", "trace", #"is "trace""#, "debug, info, warning or error"),
            ("LOG_FORMAT", "xml", #"is "xml""#, "text or json"),
        ]
    )
    func wrongValues(name: String, value: String, shown: String, allowed: String) throws {
        let problems = SettingsInput(environment: ["PUSHBRIDGE_\(name)": value]).problems()
        let problem = try #require(problems.first { $0.contains("PUSHBRIDGE_\(name)") })
        #expect(problem.contains(shown), "\(problem)")
        #expect(problem.contains(allowed), "\(problem)")
    }

    @Test("Every value of every setting is checked, also an absurd one", arguments: SettingsTable.all)
    func absurdValues(setting: Setting) {
        let absurd = "\u{1}\u{202E} {[%\u{0}" + String(repeating: "x", count: 5000)
        let problems = SettingsInput(environment: [setting.variable: absurd]).problems()
        #expect(problems.contains { $0.contains(setting.variable) })
        #expect(problems.allSatisfy { $0.utf8.count < 1500 })
    }

    @Test("All problems come at once")
    func allAtOnce() {
        let problems = SettingsInput(
            environment: [
                "PUSHBRIDGE_NONSENSE": "1", "PUSHBRIDGE_LOG": "loud", "PUSHBRIDGE_APNS_KEY": "x",
                "PUSHBRIDGE_SECRET_KEY": "x", "PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE": "/missing",
                "PUSHBRIDGE_REDIS_URL": "x", "PUSHBRIDGE_CA": "x",
            ],
            flags: ["drain-seconds": "x"]
        ).problems()
        let names = [
            "NONSENSE", "LOG", "APNS_KEY", "APNS_KEY_ID", "APNS_TEAM_ID", "SECRET_KEY", "FCM_SERVICE_ACCOUNT_FILE",
            "REDIS_URL", "CA", "DRAIN_SECONDS",
        ]
        for name in names {
            #expect(problems.contains { $0.contains("PUSHBRIDGE_\(name)") }, "\(name)")
        }
        #expect(problems.count == names.count)
    }

    // MARK: Names

    @Test(
        "Unknown names are refused, with what was probably meant",
        arguments: [
            ("PUSHBRIDGE_REDIS_ULR", "did you mean PUSHBRIDGE_REDIS_URL?"),
            ("PUSHBRIDGE_CHANELS", "did you mean PUSHBRIDGE_CHANNELS?"),
            ("PUSHBRIDGE_APNS_KEYFILE", "did you mean PUSHBRIDGE_APNS_KEY_FILE?"),
            ("PUSHBRIDGE_NONSENSE", "is no setting"),
            ("PUSHBRIDGE_", "is no setting"),
            ("PUSHBRIDGE_PORTX", "is no setting"),
            ("PUSHBRIDGE_PORT_", "is no setting"),
            ("PUSHBRIDGE_PORT_X_TCP", "is no setting"),
            ("PUSHBRIDGE_PORT_80", "is no setting"),
            ("PUSHBRIDGE_SERVICE", "is no setting"),
            ("PUSHBRIDGE_REDIS_SERVICE_HOST", "enableServiceLinks"),
        ]
    )
    func unknownNames(name: String, text: String) throws {
        let problems = SettingsInput(environment: [name: "1"]).problems()
        let problem = try #require(problems.first)
        #expect(problem.contains("\(name) is no setting"))
        #expect(problem.contains(text), "\(problem)")
        #expect(problems.count == 1)
        // Also for a command that needs no more than Redis.
        #expect(SettingsInput(environment: [name: "1"]).problems(.redis) == problems)
    }

    @Test(
        "Names that Kubernetes makes for a service, and those of others, are ignored",
        arguments: [
            "PUSHBRIDGE_SERVICE_HOST", "PUSHBRIDGE_SERVICE_PORT", "PUSHBRIDGE_SERVICE_PORT_HTTP", "PUSHBRIDGE_PORT",
            "PUSHBRIDGE_PORT_8080_TCP", "PUSHBRIDGE_PORT_8080_TCP_ADDR", "PATH", "pushbridge_redis_url",
            "XPUSHBRIDGE_A",
        ]
    )
    func ignoredNames(name: String) {
        #expect(SettingsInput(environment: [name: "tcp://10.0.0.1:80"]).problems().isEmpty)
    }

    @Test(
        "Known names that are not supported yet are refused, their values unseen",
        arguments: [
            "SUBSCRIBE_KEY", "PUBLISH_KEY", "SECRET_KEY",
        ]
    )
    func unsupported(name: String) {
        for (variable, scope) in [("PUSHBRIDGE_\(name)", Setting.Scope.all), ("PUSHBRIDGE_\(name)_FILE", .redis)] {
            let problems = SettingsInput(environment: [variable: "0.5"]).problems(scope)
            #expect(problems == ["\(variable) is known but not supported yet by this version; leave it unset"])
        }
        #expect(SettingsInput(environment: ["PUSHBRIDGE_\(name)": ""]).problems().isEmpty)
    }

    @Test("An empty variable is as good as none", arguments: SettingsTable.variables)
    func emptyVariables(variable: String) {
        #expect(SettingsInput(environment: [variable: ""]).problems().isEmpty)
    }

    // MARK: Sources

    @Test("A flag beats the environment, in each of its forms")
    func flagsWin() throws {
        var input = SettingsInput(
            environment: ["PUSHBRIDGE_PREFIX": "env:"],
            files: ["/p": .init(bytes: Array("file:\n".utf8))]
        )
        #expect(try input.read().prefix == "env:")
        input.flags = ["prefix": "flag:"]
        #expect(try input.read().prefix == "flag:")
        input.flags = ["prefix-file": "/p"]
        #expect(try input.read().prefix == "file:")
        input.flags = [:]
        input.environment = ["PUSHBRIDGE_PREFIX_FILE": "/p"]
        #expect(try input.read().prefix == "file:")
        input.flags = ["prefix": "flag:"]
        #expect(try input.read().prefix == "flag:")
    }

    @Test("A wrong flag is named together with its variable")
    func wrongFlag() {
        let problems = SettingsInput(flags: ["log": "loud"]).problems()
        #expect(problems == [#"--log (PUSHBRIDGE_LOG) is "loud"; it may be debug, info, warning or error"#])
    }

    @Test("An empty flag is wrong, since somebody took the trouble to write it", arguments: SettingsTable.all)
    func emptyFlags(setting: Setting) {
        let flag = setting.flag ?? setting.fileFlag
        let problems = SettingsInput(flags: [flag: ""]).problems()
        #expect(problems.contains { $0.hasPrefix("--\(flag) (\(setting.variable)) ") }, "\(problems)")
    }

    @Test("A setting and its file together are one too many")
    func twice() {
        let input = SettingsInput(environment: ["PUSHBRIDGE_LOG": "info", "PUSHBRIDGE_LOG_FILE": "/p"])
        #expect(input.problems() == ["PUSHBRIDGE_LOG and PUSHBRIDGE_LOG_FILE are both set; set one of them"])
        let flags = SettingsInput(flags: ["log": "info", "log-file": "/p"])
        #expect(flags.problems() == ["--log and --log-file are both set; set one of them"])
    }

    @Test("A file that cannot be used is named")
    func files() {
        var input = SettingsInput(environment: ["PUSHBRIDGE_LOG_FILE": "/p"])
        #expect(
            input.problems()
                == [#"PUSHBRIDGE_LOG_FILE names the file "/p", which cannot be opened: No such file or directory"#]
        )
        input.files["/p"] = FileContents(bytes: Array(" \n".utf8))
        #expect(input.problems().first?.contains("PUSHBRIDGE_LOG_FILE names a file that is empty") == true)
        input.files["/p"] = FileContents(bytes: [0xFF, 0xFE])
        #expect(input.problems().first?.contains("PUSHBRIDGE_LOG_FILE is not text in UTF-8") == true)
        input.files["/p"] = FileContents(bytes: Array("loud\n".utf8))
        #expect(input.problems().first?.contains(#"PUSHBRIDGE_LOG_FILE (the file "/p") is "loud";"#) == true)
    }

    @Test(
        "A password in the Redis URL is never shown",
        arguments: [
            "nonsense://user:s3cret@host", "redis://:s3cret@host:x", "redis://:s3?cret@host:x",
            "redis://:a/s3cret@host",
            "s3cret@host", "redis://host:x?password=s3cret", "rediss://u:%zzs3cret@h",
        ]
    )
    func passwords(url: String) throws {
        let problem = try #require(SettingsInput(environment: ["PUSHBRIDGE_REDIS_URL": url]).problems().first)
        #expect(!problem.contains("s3cret") && !problem.contains("s3"), "\(problem)")
    }

    @Test("Only what a command needs must be right, and only that is read")
    func scopes() {
        let input = SettingsInput(environment: [
            "PUSHBRIDGE_APNS_KEY_FILE": "/missing", "PUSHBRIDGE_FCM_SERVICE_ACCOUNT": "broken",
            "GOOGLE_APPLICATION_CREDENTIALS": "/missing",
        ])
        #expect(input.problems([.redis, .log]).isEmpty)
        #expect(input.problems([.apns]).count == 2)
        #expect(input.problems([.fcm]).count == 1)
        let redis = SettingsInput(environment: ["PUSHBRIDGE_REDIS_URL": "nonsense://"])
        #expect(redis.problems([.apns]).isEmpty)
        #expect(redis.problems([.redis]).count == 1)
        #expect(SettingsInput(environment: ["PUSHBRIDGE_LOG": "loud"]).problems(.redis).count == 1)
    }

    @Test("README's table is the program's")
    func readme() throws {
        let path = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined() + "/README.md"
        let text = String(decoding: try File.read(path), as: UTF8.self)
        #expect(text.contains("\n\(SettingsText.markdown)\n"), "paste the output of: pushbridge --help-settings")
    }
}
