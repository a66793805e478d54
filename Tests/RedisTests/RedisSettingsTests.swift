import Testing
import Transport

@testable import Redis

@Suite("The Redis URL")
struct RedisSettingsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var url: String
        var endpoint: Endpoint
        var tls = false
        var user: String?
        var password: String?
        var database = 0

        var testDescription: String { url }
    }

    static let good: [Case] = [
        Case(url: "redis://127.0.0.1:6379", endpoint: .tcp(host: "127.0.0.1", port: 6379)),
        Case(url: "redis://", endpoint: .tcp(host: "127.0.0.1", port: 6379)),
        Case(url: "REDIS://Example.com", endpoint: .tcp(host: "Example.com", port: 6379)),
        Case(url: "redis://host:1/", endpoint: .tcp(host: "host", port: 1)),
        Case(url: "redis://host:6380/12", endpoint: .tcp(host: "host", port: 6380), database: 12),
        Case(url: "redis://host?db=3", endpoint: .tcp(host: "host", port: 6379), database: 3),
        Case(url: "redis://[::1]:7000/1", endpoint: .tcp(host: "::1", port: 7000), database: 1),
        Case(url: "redis://[fe80::1]", endpoint: .tcp(host: "fe80::1", port: 6379)),
        Case(url: "rediss://h", endpoint: .tcp(host: "h", port: 6379), tls: true),
        Case(url: "redis://:secret@h", endpoint: .tcp(host: "h", port: 6379), password: "secret"),
        Case(url: "redis://u:p@h", endpoint: .tcp(host: "h", port: 6379), user: "u", password: "p"),
        Case(
            url: "redis://us%3Aer:p%40ss%2Fw%25rd%20%C3%A9@h:1",
            endpoint: .tcp(host: "h", port: 1),
            user: "us:er",
            password: "p@ss/w%rd \u{E9}"
        ),
        Case(url: "redis://u:a:b@c@h", endpoint: .tcp(host: "h", port: 6379), user: "u", password: "a:b@c"),
        Case(url: "unix:///run/redis.sock", endpoint: .unix(path: "/run/redis.sock")),
        Case(url: "unix:///run/re%20dis@1.sock?db=2", endpoint: .unix(path: "/run/re dis@1.sock"), database: 2),
        Case(url: "unix://u:p@/r.sock", endpoint: .unix(path: "/r.sock"), user: "u", password: "p"),
        Case(url: "unix://:p@/r.sock", endpoint: .unix(path: "/r.sock"), password: "p"),
    ]

    @Test("A URL is taken apart", arguments: good)
    func takenApart(expected: Case) throws {
        let settings = try RedisSettings(url: expected.url)
        #expect(settings.endpoint == expected.endpoint)
        #expect((settings.tls != nil) == expected.tls)
        #expect(settings.user == expected.user)
        #expect(settings.password == expected.password)
        #expect(settings.database == expected.database)
    }

    @Test(
        "A URL that cannot be used is refused with a sentence that keeps the password",
        arguments: [
            ("", "scheme"), ("127.0.0.1:6379", "scheme"), ("http://h", "may be redis"), ("redis:/h", "scheme"),
            ("redis://u:SECRET@h:0", "port"), ("redis://u:SECRET@h:65536", "port"), ("redis://h:SECRET", "port"),
            ("redis://u:SE/CRET@h", "port"), ("redis://h/x", "database"), ("redis://h/-1", "database"),
            ("redis://h/99999999999", "database"), ("redis://h?timeout=1", "parameter"),
            ("redis://u:%SECRET@h", "hex digits"), ("redis://u:%FF%FE@h", "UTF-8"), ("redis://SECRET@h", "without"),
            ("redis://[::1", "bracket"), ("redis://[::1]x", "port"), ("redis://h,SECRET", "host name"),
            ("redis://a b", "host name"), ("unix://", "path"), ("unix://run/redis.sock", "path"), ("unix:///", "path"),
            ("unix:///" + String(repeating: "x", count: 107), "107"),
            ("redis+sentinel://", "empty place"), ("redis+sentinel://a,b", "what the sentinels call"),
            ("redis+sentinel://a,b/", "what the sentinels call"), ("redis+sentinel://a,/m", "empty place"),
            ("redis+sentinel:///m", "empty place"), ("redis+sentinel://a/m/x", "database"),
            ("redis+sentinel://u:SECRET@a:0/m", "port"), ("redis+sentinel://a/m?x=1", "parameter"),
        ]
    )
    func refused(url: String, part: String) {
        do {
            _ = try RedisSettings(url: url)
            Issue.record("\(url) was accepted")
        } catch {
            #expect("\(error)".contains(part), "\(error)")
            #expect(!"\(error)".contains("SECRET"))
        }
    }

    @Test("Whatever the URL, it is taken apart or refused")
    func random() {
        let parts = [
            "redis", "unix", "://", "/", ":", "@", "[", "]", "%", "?", "&", "=", "db", "0", "a", ",", " ", "\u{E9}",
            "\u{0}",
        ]
        for _ in 0..<5000 {
            let tail = (0..<8).map { _ in parts.randomElement() ?? "" }.joined()
            for head in ["", "redis://", "unix:///", "redis+sentinel://"] { _ = try? RedisSettings(url: head + tail) }
        }
    }

    @Test("Sentinels are taken apart, with a name and perhaps a database")
    func sentinels() throws {
        let url = "redis+sentinel://u:p%40@a,b:1,[::1]:2/my%20primary/3"
        let settings = try RedisSettings(url: url)
        let hosts = [("a", 26379), ("b", 1), ("::1", 2)] as [(String, UInt16)]
        let endpoints = hosts.map { Endpoint.tcp(host: $0.0, port: $0.1) }
        #expect(settings.sentinels == RedisSettings.Sentinels(endpoints: endpoints, name: "my primary"))
        #expect(settings.user == "u" && settings.password == "p@" && settings.database == 3)
        #expect("\(settings)" == "redis+sentinel://a:26379,b:1,[::1]:2/my primary")
        #expect(try RedisSettings(url: "rediss+sentinel://a/m").tls != nil)
        #expect(try RedisSettings(url: "redis+sentinel://a/m?db=2").database == 2)
        #expect(try RedisSettings(url: "redis://a").sentinels == nil)
    }

    @Test("A description shows neither user nor password")
    func description() throws {
        #expect("\(try RedisSettings(url: "redis://u:p@h:1/2"))" == "redis://h:1")
        #expect("\(try RedisSettings(url: "rediss://u:p@h:1"))" == "rediss://h:1")
        #expect("\(try RedisSettings(url: "unix://u:p@/x?db=1"))" == "unix:///x")
    }
}

@Suite("The login")
struct RedisHandshakeTests {
    private static func handshake(_ url: String, name: String = "n") throws -> RedisHandshake {
        let settings = try RedisSettings(url: url)
        return RedisHandshake(settings, name: name, server: settings.endpoint)
    }

    @Test(
        "Only a primary will do",
        arguments: [
            (.array([.bulk(Array("master".utf8)), .integer(0), .array([])]), nil),
            (
                .array([.bulk(Array("slave".utf8)), .bulk(Array("10.0.0.1".utf8)), .integer(6379)]),
                "h:6379 is a replica of 10.0.0.1:6379"
            ),
            (.array([.bulk(Array("slave".utf8))]), "h:6379 is a replica of"),
            (.array([.bulk(Array("sentinel".utf8))]), "redis+sentinel://h:6379/NAME"),
            (.array([]), "something else"), (.simple("OK"), "something else"),
        ] as [(RESPValue, String?)]
    )
    func role(reply: RESPValue, refusal: String?) throws {
        var handshake = try Self.handshake("redis://h")
        try handshake.receive(.simple("OK"))
        guard let refusal else { return try handshake.receive(reply) }
        let error = #expect(throws: RedisError.self) { try handshake.receive(reply) }
        #expect(error.map { "\($0)".contains(refusal) } == true)
    }

    @Test(
        "Only what the URL asks for is said",
        arguments: [
            ("redis://h", ["CLIENT SETNAME my_name", "ROLE", "PING"]),
            ("redis://:p@h", ["AUTH p", "CLIENT SETNAME my_name", "ROLE", "PING"]),
            ("redis://u:p@h/4", ["AUTH u p", "CLIENT SETNAME my_name", "SELECT 4", "ROLE", "PING"]),
        ]
    )
    func commands(url: String, expected: [String]) throws {
        let handshake = try Self.handshake(url, name: "my name")
        var words: [String] = []
        for command in handshake.commands {
            _ = RESPDecoder().decode(command.request) { value in
                words.append((value.elements ?? []).compactMap(\.text).joined(separator: " "))
                return true
            }
        }
        #expect(words == expected)
    }

    @Test("What the user may not do is left for later; a missing name is no reason to fail")
    func lenient() throws {
        var handshake = try Self.handshake("redis://u:p@h")
        try handshake.receive(.simple("OK"))
        try handshake.receive(.error("ERR unknown subcommand"))
        try handshake.receive(.error("ERR unknown command 'ROLE'"))
        #expect(!handshake.isDone)
        try handshake.receive(.error("NOPERM this user has no permissions to run the 'ping' command"))
        #expect(handshake.isDone)
    }

    @Test(
        "A wrong password is told apart from a server that is not ready",
        arguments: [
            ("WRONGPASS invalid username-password pair or user is disabled.", true),
            ("ERR AUTH <password> called without any password configured for the default user.", true),
            ("ERR Client sent AUTH, but no password is set", true),
            ("LOADING Redis is loading the dataset in memory", false),
        ]
    )
    func refusal(reply: String, isAuthentication: Bool) throws {
        var handshake = try Self.handshake("redis://:p@h")
        let error = #expect(throws: RedisError.self) { try handshake.receive(.error(reply)) }
        switch error {
        case .authentication: #expect(isAuthentication)
        default: #expect(!isAuthentication)
        }
    }
}

@Suite("Deliveries of one publish")
struct DeliveryGroupsTests {
    @Test(
        "Each publish counts once, equal ones that follow each other count each",
        arguments: [
            // patterns, channels, deliveries as (pattern or -, channel), which of them are first
            (["*"], [], ["* a", "* a", "* b"], [true, true, true]),
            (
                ["*", "a*"], [], ["* a", "a* a", "* a", "a* a", "* b", "* a", "a* a"],
                [true, false, true, false, true, true, false]
            ),
            (["*"], ["m"], ["- m", "* m", "- m", "* m", "* x", "* x"], [true, false, true, false, true, true]),
            (["*", "a*"], [], ["* a", "a* a", "a* a", "* a"], [true, false, true, false]),
            (["a", "b"], [], ["a a", "b b", "b b", "a a"], [true, true, true, true]),
        ] as [([String], [String], [String], [Bool])]
    )
    func groups(patterns: [String], channels: [String], deliveries: [String], expected: [Bool]) {
        var groups = DeliveryGroups(
            patterns: patterns.map { Array($0.utf8) },
            channels: channels.map { Array($0.utf8) }
        )
        groups.reset()
        let first = deliveries.map { delivery in
            let words = delivery.split(separator: " ").map { Array($0.utf8) }
            return words[1].withRawSpan { channel in
                guard words[0] != Array("-".utf8) else { return groups.isFirst(channel: channel, pattern: nil) }
                return words[0].withRawSpan { groups.isFirst(channel: channel, pattern: $0) }
            }
        }
        #expect(first == expected)
    }
}
