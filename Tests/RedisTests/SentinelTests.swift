import TestSupport
import Testing
import Transport

@testable import Redis

/// Each test has servers of its own.
@Suite("Redis with sentinels and replicas", .timeLimit(.minutes(1)))
struct SentinelTests {
    /// A server on a port of its own; a replica of another one if that is given, and then in step with it.
    private static func server(replicaOf primary: RedisServer? = nil, password: String? = nil) async throws
        -> RedisServer
    {
        var options = RedisServer.Options()
        options.usesTCP = true
        options.password = password
        if let port = primary?.port { options.configuration.append("replicaof 127.0.0.1 \(port)") }
        options.configuration.append("repl-diskless-sync-delay 0")
        if let password { options.configuration.append("masterauth \(password)") }
        let server = try await RedisServer(options)
        if let primary {
            let client = try await primary.client(password: password)
            defer { client.close() }
            // The primary counts the replica in once it is in step.
            while try await client.call("WAIT", 1, 100).integer == 0 {
                try await client.call("SET", "in-step", 1)
            }
            try await client.call("DEL", "in-step")
        }
        return server
    }

    /// Waits for the event.
    private static func lost(_ connection: RunningConnection, _ text: String) async throws -> String {
        try await connection.events.find { events in
            events.lazy.compactMap { event -> String? in
                guard case .lost(let error) = event, "\(error)".contains(text) else { return nil }
                return "\(error)"
            }.first
        }
    }

    /// A busy machine alone must not end a connection: it would count as one that has followed.
    private static let timings = quickTimings(replyDeadline: .seconds(5))

    @Test("The primary is found by any of the sentinels that knows it, and the others cost little")
    func found() async throws {
        let primary = try await Self.server()
        let port = try #require(primary.port)
        let sentinel = try await RedisSentinel(primary: port)
        let stranger = try await RedisSentinel(primary: port)
        let dead = try RedisServer.unusedPort()
        let settings = try RedisSentinel.settings([dead, stranger.port, sentinel.port])
        let client = try await RedisClient.connect(settings, name: "test")
        defer { client.close() }
        #expect(try await client.call("INFO", "server").text?.contains("tcp_port:\(port)\r\n") == true)
        let subscription = try await RunningSubscription(settings, patterns: ["*"], timings: Self.timings)
        try await subscription.ready()
        try await client.call("PUBLISH", "a", "b")
        #expect(try await subscription.messages(1).first?.message == "b")
    }

    @Test("Who cannot name the primary is named, with the reason")
    func unknown() async throws {
        let primary = try await Self.server()
        let sentinel = try await RedisSentinel(primary: try #require(primary.port))
        let dead = try RedisServer.unusedPort()
        let settings = try RedisSentinel.settings([dead, sentinel.port], name: "other")
        let connection = try await RunningConnection(settings)
        let error = try await Self.lost(connection, "no Sentinel names the primary of \"other\"")
        #expect(error.contains("127.0.0.1:\(sentinel.port): it knows none of this name"))
        #expect(error.contains("127.0.0.1:\(dead): "))
        // It goes on asking.
        _ = try await connection.events.find { $0.count > 2 ? () : nil }
    }

    @Test("A silent sentinel is left after its deadline")
    func silent() async throws {
        let primary = try await Self.server()
        let sentinel = try await RedisSentinel(primary: try #require(primary.port))
        let loop = try EventLoop.onNewThread(named: "silent")
        defer { loop.stop() }
        let listener = try await loop.run {
            LoopConfined(
                try Listener(.tcp(host: "127.0.0.1", port: 0), tls: nil, on: loop) { _ in Silence() },
                on: loop
            )
        }
        let port = try await loop.run { listener.value.port }
        var timings = quickTimings()
        timings.sentinelDeadline = .milliseconds(200)
        let connection = try await RunningConnection(
            try RedisSentinel.settings([port, sentinel.port]),
            timings: timings
        )
        #expect(try await connection.events.first(1) == [.ready])
    }

    @Test("User and password serve for Redis and for sentinels, of which some want none")
    func passwords() async throws {
        let primary = try await Self.server(password: "secret")
        let port = try #require(primary.port)
        let guarded = try await RedisSentinel(primary: port, password: "secret", ownPassword: "secret")
        let open = try await RedisSentinel(primary: port, password: "secret")
        for sentinel in [guarded, open] {
            let settings = try RedisSentinel.settings([sentinel.port], login: ":secret@")
            let client = try await RedisClient.connect(settings, name: "test")
            #expect(try await client.call("PING").text == "PONG")
            client.close()
        }
        let error = await #expect(throws: RedisError.self) {
            _ = try await RedisClient.connect(try RedisSentinel.settings([guarded.port]), name: "test")
        }
        #expect(error.map { "\($0)".contains("NOAUTH") } == true)
    }

    @Test("With TLS both the sentinel and the primary must show a certificate that is trusted")
    func overTLS() async throws {
        let authority = try CertificateAuthority(name: "Test CA")
        let certificate = try authority.issue(hosts: ["127.0.0.1"])
        var options = RedisServer.Options()
        options.certificate = certificate
        let primary = try await RedisServer(options)
        let sentinel = try await RedisSentinel(primary: try #require(primary.tlsPort), certificate: certificate)
        let settings = try RedisSentinel.tlsSettings([sentinel.port], trusting: authority.certificatePEM)
        let client = try await RedisClient.connect(settings, name: "test")
        defer { client.close() }
        #expect(try await client.call("PING").text == "PONG")
        let stranger = try CertificateAuthority(name: "Another CA")
        let error = await #expect(throws: RedisError.self) {
            let settings = try RedisSentinel.tlsSettings([sentinel.port], trusting: stranger.certificatePEM)
            _ = try await RedisClient.connect(settings, name: "test")
        }
        #expect(error.map { "\($0)".contains("TLS") } == true)
    }

    @Test(
        "What a sentinel answers is an address, or a reason",
        arguments: [
            (.array([.bulk(Array("h".utf8)), .bulk(Array("1".utf8))]), "h:1"),
            (.array([.bulk(Array("::1".utf8)), .integer(65535)]), "[::1]:65535"),
            (.null, nil), (.simple("OK"), nil), (.array([]), nil), (.array([.bulk(Array("h".utf8))]), nil),
            (.array([.bulk(Array("h".utf8)), .bulk(Array("65536".utf8))]), nil),
            (.array([.bulk(Array("h".utf8)), .bulk(Array("0".utf8))]), nil),
            (.array([.bulk([]), .bulk(Array("1".utf8))]), nil), (.error("IDONTKNOW"), nil),
        ] as [(RESPValue, String?)]
    )
    func replies(reply: RESPValue, address: String?) {
        let primary = try? SentinelConversation.primary(reply).get()
        #expect(primary.map { "\($0)" } == address)
    }

    @Test("When the primary dies, connection and subscription follow to the one that takes its place")
    func failover() async throws {
        let primary = try await Self.server()
        let replica = try await Self.server(replicaOf: primary)
        let sentinel = try await RedisSentinel(primary: try #require(primary.port))
        let settings = try RedisSentinel.settings([sentinel.port])
        let connection = try await RunningConnection(settings, timings: Self.timings)
        let subscription = try await RunningSubscription(settings, patterns: ["*"], timings: Self.timings)
        _ = try await connection.events.first(1)
        try await subscription.ready()
        try await primary.kill()
        _ = try await connection.events.find { $0.filter { $0 == .ready }.count >= 2 ? () : nil }
        try await subscription.ready(2)
        connection.send(RedisCommand("SET", ["a", "b"]), RedisCommand("INFO", ["server"]))
        let replies = try await connection.replies.first(2)
        #expect(replies[0] == .success(.simple("OK")))
        #expect(try replies[1].get().text?.contains("tcp_port:\(try #require(replica.port))\r\n") == true)
        connection.send(RedisCommand("PUBLISH", ["c", "after"]))
        #expect(try await subscription.messages(1).first?.message == "after")
    }

    @Test("A planned failover cuts connections that stood, and they follow")
    func planned() async throws {
        let primary = try await Self.server()
        let replica = try await Self.server(replicaOf: primary)
        let sentinel = try await RedisSentinel(primary: try #require(primary.port))
        let settings = try RedisSentinel.settings([sentinel.port])
        let connection = try await RunningConnection(settings, timings: Self.timings)
        _ = try await connection.events.first(1)
        let control = try RedisSettings(url: "redis://127.0.0.1:\(sentinel.port)")
        let haste = RedisCommand("SENTINEL", ["DEBUG", "info-period", 100, "ping-period", 100])
        #expect(try await Self.order(control, haste) == .success(.simple("OK")))
        // It says NOGOODSLAVE until it has heard of the replica.
        let order = RedisCommand("SENTINEL", ["FAILOVER", RedisSentinel.name])
        while try await Self.order(control, order) != .success(.simple("OK")) {}
        _ = try await connection.events.find { $0.filter { $0 == .ready }.count >= 2 ? () : nil }
        connection.send(RedisCommand("INFO", ["server"]))
        let reply = try await connection.replies.first(1)[0].get()
        #expect(reply.text?.contains("tcp_port:\(try #require(replica.port))\r\n") == true)
    }

    @Test("A replica is refused with a reason, and taken when it has become the primary")
    func replica() async throws {
        let primary = try await Self.server()
        let replica = try await Self.server(replicaOf: primary)
        let port = try #require(replica.port)
        let settings = try RedisSettings(url: "redis://127.0.0.1:\(port)")
        let connection = try await RunningConnection(settings, timings: Self.timings)
        let subscription = try await RunningSubscription(settings, patterns: ["*"], timings: Self.timings)
        let error = try await Self.lost(connection, "is a replica of")
        #expect(error.contains("127.0.0.1:\(port) is a replica of 127.0.0.1:\(try #require(primary.port))"))
        let refusal = await #expect(throws: RedisError.self) {
            _ = try await RedisClient.connect(settings, name: "test")
        }
        #expect(refusal.map { "\($0)".contains("only the primary will do") } == true)
        #expect(try await Self.order(settings, RedisCommand("REPLICAOF", ["NO", "ONE"])) == .success(.simple("OK")))
        _ = try await connection.events.find { $0.contains(.ready) ? () : nil }
        try await subscription.ready()
    }

    /// Sends one command to a server whatever its role, as redis-cli does.
    private static func order(_ settings: RedisSettings, _ command: RedisCommand) async throws -> Result<
        RESPValue, RedisError
    > {
        let loop = try EventLoop.onNewThread(named: "order")
        defer { loop.stop() }
        let replies = Recorder<Result<RESPValue, RedisError>>(on: loop)
        let stream = try await loop.run {
            let stream = ByteStream.connect(
                to: settings.endpoint,
                tls: nil,
                deadline: .seconds(5),
                on: loop,
                handler: OneReply(replies)
            )
            stream.write(command.request)
            return LoopConfined(stream, on: loop)
        }
        let reply = try await replies.first(1)[0]
        try await loop.run { stream.value.close() }
        return reply
    }
}

/// Takes everything and says nothing.
private final class Silence: ByteStreamHandler {
    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {}
    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {}
}

/// Records what one connection answers.
private final class OneReply: ByteStreamHandler {
    private let replies: Recorder<Result<RESPValue, RedisError>>
    private let decoder = RESPDecoder()

    init(_ replies: Recorder<Result<RESPValue, RedisError>>) {
        self.replies = replies
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        _ = decoder.decode(bytes) { reply in
            replies.record(reply.error.map { .failure($0) } ?? .success(reply))
            return true
        }
    }

    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        replies.record(.failure(.connectionLost))
    }
}
