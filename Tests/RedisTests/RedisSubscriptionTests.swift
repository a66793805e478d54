import TestSupport
import Testing
import Transport

@testable import Redis

@Suite("Subscriptions to a real Redis", .redisServer, .timeLimit(.minutes(1)))
struct RedisSubscriptionTests {
    @Test(
        "A channel may have any name",
        arguments: [
            "any:plain", "any:with spaces", "any:{braces}:*?[x]", "any:\u{1F600}\u{E9}", "any:nul\u{0}nul", "any:\r\n",
        ]
    )
    func channels(name: String) async throws {
        let server = try RedisServer.current()
        let client = try await server.client()
        defer { client.close() }
        let subscription = try await RunningSubscription(server.settings(), patterns: ["any:*"])
        try await subscription.ready()
        #expect(try await client.call("PUBLISH", name, "hello\u{0}\r\n").integer ?? 0 >= 1)
        let heard = try await subscription.events.find { events in
            events.first { event in
                guard case .message(_, name, _) = event else { return false }
                return true
            }
        }
        #expect(heard == .message("hello\u{0}\r\n", channel: name, pattern: "any:*"))
    }

    @Test("A publish that several names match is told once, and equal publishes are told each")
    func overlapping() async throws {
        let server = try RedisServer.current()
        let client = try await server.client()
        defer { client.close() }
        let subscription = try await RunningSubscription(
            server.settings(),
            patterns: ["over:*", "over:a*", "*r:a"],
            channels: ["over:a", "over:marks"]
        )
        try await subscription.ready()
        for channel in ["over:a", "over:a", "over:ab", "over:b", "over:marks", "over:a"] {
            try await client.call("PUBLISH", channel, "same")
        }
        let heard = try await subscription.messages(6)
        #expect(heard.count == 6)
        #expect(heard[0] == .message("same", channel: "over:a", pattern: nil))
        #expect(heard[4] == .message("same", channel: "over:marks", pattern: nil))
        #expect(heard[5] == .message("same", channel: "over:a", pattern: nil))
    }

    @Test("A message of a megabyte, and 20,000 small ones, all come in order")
    func many() async throws {
        let server = try RedisServer.current()
        let client = try await server.client()
        defer { client.close() }
        let subscription = try await RunningSubscription(server.settings(), patterns: ["many"])
        try await subscription.ready()
        let large = String(repeating: "0123456789abcdef", count: 65_536)
        try await client.call("PUBLISH", "many", large)
        try await client.withConnection { connection, done in
            for number in 0..<20_000 {
                connection.send(RedisCommand("PUBLISH", ["many", "\(number)"])) { result in
                    if number == 19_999 { done(result.map { _ in () }) }
                }
            }
        }
        let heard = try await subscription.messages(20_001).compactMap(\.message)
        #expect(heard.first == large)
        #expect(Array(heard.dropFirst()) == (0..<20_000).map(String.init))
    }

    @Test("A command joined to the subscription is carried out before it, and in one step with it")
    func joined() async throws {
        let server = try RedisServer.current()
        let client = try await server.client()
        defer { client.close() }
        let witness = try await RunningSubscription(server.settings(), patterns: ["joined"])
        try await witness.ready()
        let subscription = try await RunningSubscription(
            server.settings(),
            patterns: ["joined", "join*"],
            channels: ["joined"],
            join: { RedisCommand("EVAL", ["return redis.call('PUBLISH', 'joined', 'mark')", "0"]) }
        )
        try await subscription.ready()
        try await client.call("PUBLISH", "joined", "after")
        #expect(try await subscription.messages(1).compactMap(\.message) == ["after"])
        #expect(try await witness.messages(2).compactMap(\.message) == ["mark", "after"])
        guard case .ready(joined: .success(.integer(let count))) = subscription.events.elements.first else {
            Issue.record("\(subscription.events.elements)")
            return
        }
        #expect(count >= 1)
    }

    @Test("A handler may close the subscription from within a message")
    func closed() async throws {
        let server = try RedisServer.current()
        let loop = try EventLoop.onNewThread(named: "closing")
        defer { loop.stop() }
        let seen = Recorder<String>(on: loop)
        let settings = try server.settings()
        let handler = try await loop.run {
            let handler = ClosingHandler(settings, seen, on: loop)
            return LoopConfined(handler, on: loop)
        }
        _ = try await seen.first(1)
        let client = try await server.client()
        defer { client.close() }
        try await client.withConnection { connection, done in
            for number in 0..<10 {
                connection.send(RedisCommand("PUBLISH", ["closing", "\(number)"])) { result in
                    if number == 9 { done(result.map { _ in () }) }
                }
            }
        }
        #expect(try await seen.first(2) == ["ready", "0"])
        try await loop.run { _ = handler.value }
        #expect(seen.elements == ["ready", "0"])
    }
}

@Suite("Subscriptions to a Redis that fails", .timeLimit(.minutes(1)))
struct RedisSubscriptionFailureTests {
    @Test("After the server was killed and started again, messages are heard again")
    func restart() async throws {
        let server = try await RedisServer()
        let subscription = try await RunningSubscription(server.settings(), patterns: ["*"], channels: ["c"])
        try await subscription.ready()
        try await server.kill()
        try await server.start()
        try await subscription.ready(2)
        let client = try await server.client()
        defer { client.close() }
        try await client.call("PUBLISH", "c", "again")
        #expect(try await subscription.messages(1) == [.message("again", channel: "c", pattern: nil)])
    }

    @Test("CLIENT KILL TYPE PUBSUB is survived")
    func killed() async throws {
        let server = try await RedisServer()
        let subscription = try await RunningSubscription(server.settings(), patterns: ["*"])
        try await subscription.ready()
        let client = try await server.client()
        defer { client.close() }
        try await client.call("CLIENT", "KILL", "TYPE", "pubsub")
        try await subscription.ready(2)
        try await client.call("PUBLISH", "c", "again")
        #expect(try await subscription.messages(1).compactMap(\.message) == ["again"])
    }

    @Test("A silent server is noticed, also by a subscription that hears nothing for long")
    func frozen() async throws {
        let server = try await RedisServer()
        let subscription = try await RunningSubscription(server.settings(), patterns: ["*"])
        try await subscription.ready()
        server.setFrozen(true)
        defer { server.setFrozen(false) }
        let error = try await subscription.events.find { events -> RedisError? in
            guard case .lost(let error) = events.last else { return nil }
            return error
        }
        guard case .overdue = error else {
            Issue.record("\(error)")
            return
        }
        server.setFrozen(false)
        try await subscription.ready(2)
    }

    @Test("Silence alone is no fault: PING is answered")
    func idle() async throws {
        let server = try await RedisServer()
        var timings = quickTimings()
        timings.idleInterval = .milliseconds(20)
        let subscription = try await RunningSubscription(server.settings(), patterns: ["*"], timings: timings)
        try await subscription.ready()
        let client = try await server.client()
        defer { client.close() }
        var pings = 0
        while pings < 5 {
            let statistics = try await client.call("INFO", "commandstats").text ?? ""
            let calls = statistics.split(separator: "cmdstat_ping:calls=").dropFirst().first?.prefix { $0 != "," }
            pings = calls.flatMap { Int($0) } ?? 0
        }
        #expect(subscription.events.elements == [.ready(joined: nil)])
    }

    @Test("A pattern that the user may not hear is refused by name of the right", arguments: [true, false])
    func refused(isJoined: Bool) async throws {
        var options = RedisServer.Options()
        options.users = ["user observer on >pass resetchannels &allowed -@all +@pubsub +ping +@transaction +auth +echo"]
        let server = try await RedisServer(options)
        let join: @Sendable () -> RedisCommand = { RedisCommand("ECHO", ["x"]) }
        let subscription = try await RunningSubscription(
            server.settings(user: "observer", password: "pass"),
            patterns: ["allowed", "*"],
            join: isJoined ? join : nil
        )
        let error = try await subscription.events.find { events -> RedisError? in
            guard case .lost(let error) = events.first else { return nil }
            return error
        }
        #expect(error.code == "NOPERM")
    }

    @Test("A server out of memory refuses the joined command, but not the subscription")
    func outOfMemory() async throws {
        var options = RedisServer.Options()
        options.configuration = ["maxmemory 1kb", "maxmemory-policy noeviction"]
        let server = try await RedisServer(options)
        let subscription = try await RunningSubscription(
            server.settings(),
            patterns: ["*"],
            join: { RedisCommand("EVAL", ["return redis.call('PUBLISH', 'c', 'mark')", "0"]) }
        )
        try await subscription.ready()
        guard case .ready(joined: .failure(let error)) = subscription.events.elements.last else {
            Issue.record("\(subscription.events.elements)")
            return
        }
        #expect(error.code == "OOM")
    }

    @Test("A subscription that was found deaf begins anew")
    func deaf() async throws {
        let server = try await RedisServer()
        let subscription = try await RunningSubscription(server.settings(), patterns: ["*"])
        try await subscription.ready()
        subscription.use { $0.restart(because: "no mark was heard") }
        try await subscription.ready(2)
        #expect(subscription.events.elements[1] == .lost(.overdue("no mark was heard")))
    }
}

/// Closes its subscription at the first message.
private final class ClosingHandler: RedisSubscriptionHandler {
    private let seen: Recorder<String>
    private var subscription: RedisSubscription?

    init(_ settings: RedisSettings, _ seen: Recorder<String>, on loop: EventLoop) {
        self.seen = seen
        let subscription = RedisSubscription(
            settings,
            name: "closing",
            patterns: [Array("closing".utf8), Array("clos*".utf8)],
            on: loop,
            handler: self
        )
        self.subscription = subscription
        subscription.start()
    }

    func subscriptionReady(_ subscription: RedisSubscription, joined: Result<RESPValue, RedisError>?) {
        seen.record("ready")
    }

    func subscription(
        _ subscription: RedisSubscription,
        message payload: RawSpan,
        channel: RawSpan,
        pattern: RawSpan?
    ) {
        seen.record(String(decoding: payload.copiedBytes, as: UTF8.self))
        subscription.close()
    }

    func subscriptionLost(_ subscription: RedisSubscription, error: RedisError) {
        seen.record("lost")
    }
}
