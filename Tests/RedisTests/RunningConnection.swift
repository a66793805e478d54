import TestSupport
import Transport

@testable import Redis

/// Deadlines short enough for tests.
func quickTimings(replyDeadline: Duration = .seconds(1)) -> RedisTimings {
    var timings = RedisTimings()
    timings.replyDeadline = replyDeadline
    timings.idleInterval = .milliseconds(300)
    timings.stableAfter = .milliseconds(1)
    timings.firstDelay = .milliseconds(10)
    timings.maximumDelay = .milliseconds(50)
    return timings
}

/// A connection on a loop of its own.
final class RunningConnection: Sendable {
    enum Event: Equatable, Sendable {
        case ready
        case lost(RedisError)
    }

    let loop: EventLoop
    let events: Recorder<Event>
    let replies: Recorder<Result<RESPValue, RedisError>>
    private let parts: LoopConfined<(connection: RedisConnection, observer: Observer)>

    init(_ settings: RedisSettings, timings: RedisTimings = quickTimings()) async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let events = Recorder<Event>(on: loop)
        self.loop = loop
        self.events = events
        replies = Recorder(on: loop)
        parts = try await loop.run {
            let observer = Observer(events)
            let connection = RedisConnection(settings, name: "a test", timings: timings, on: loop, observer: observer)
            connection.start()
            return LoopConfined((connection, observer), on: loop)
        }
    }

    deinit {
        use { $0.close() }
        loop.stop()
    }

    /// Uses the connection on its loop.
    func use(_ body: @escaping @Sendable (RedisConnection) -> Void) {
        let parts = parts
        loop.execute { body(parts.value.connection) }
    }

    /// Sends commands of one turn; their replies go to ``replies``.
    func send(_ commands: RedisCommand..., replyDeadline: Duration? = nil) {
        let replies = replies
        use { connection in
            for command in commands { connection.send(command, replyDeadline: replyDeadline) { replies.record($0) } }
        }
    }

    private final class Observer: RedisConnectionObserver {
        let events: Recorder<Event>

        init(_ events: Recorder<Event>) {
            self.events = events
        }

        func redisReady(_ connection: RedisConnection) { events.record(.ready) }
        func redisLost(_ connection: RedisConnection, error: RedisError) { events.record(.lost(error)) }
    }
}

/// A subscription on a loop of its own.
final class RunningSubscription: Sendable {
    enum Event: Equatable, Sendable {
        case ready(joined: Result<RESPValue, RedisError>?)
        case message(String, channel: String, pattern: String?)
        case lost(RedisError)

        var isReady: Bool {
            guard case .ready = self else { return false }
            return true
        }

        var message: String? {
            guard case .message(let text, _, _) = self else { return nil }
            return text
        }
    }

    let loop: EventLoop
    let events: Recorder<Event>
    private let parts: LoopConfined<(subscription: RedisSubscription, handler: Handler)>

    init(
        _ settings: RedisSettings,
        patterns: [String],
        channels: [String] = [],
        join: (@Sendable () -> RedisCommand)? = nil,
        timings: RedisTimings = quickTimings()
    ) async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        let events = Recorder<Event>(on: loop)
        self.loop = loop
        self.events = events
        parts = try await loop.run {
            let handler = Handler(events)
            let subscription = RedisSubscription(
                settings,
                name: "subscription",
                patterns: patterns.map { Array($0.utf8) },
                channels: channels.map { Array($0.utf8) },
                join: join,
                timings: timings,
                on: loop,
                handler: handler
            )
            subscription.start()
            return LoopConfined((subscription, handler), on: loop)
        }
    }

    deinit {
        use { $0.close() }
        loop.stop()
    }

    func use(_ body: @escaping @Sendable (RedisSubscription) -> Void) {
        let parts = parts
        loop.execute { body(parts.value.subscription) }
    }

    /// Waits until it is ready for the n-th time.
    func ready(_ count: Int = 1) async throws {
        try await events.find { $0.filter(\.isReady).count >= count ? () : nil }
    }

    /// Waits for so many messages.
    func messages(_ count: Int) async throws -> [Event] {
        try await events.find {
            let messages = $0.filter { $0.message != nil }
            return messages.count >= count ? messages : nil
        }
    }

    private final class Handler: RedisSubscriptionHandler {
        let events: Recorder<Event>

        init(_ events: Recorder<Event>) {
            self.events = events
        }

        func subscriptionReady(_ subscription: RedisSubscription, joined: Result<RESPValue, RedisError>?) {
            events.record(.ready(joined: joined))
        }

        func subscription(
            _ subscription: RedisSubscription,
            message payload: RawSpan,
            channel: RawSpan,
            pattern: RawSpan?
        ) {
            let name: String? = if let pattern { text(pattern) } else { nil }
            events.record(.message(text(payload), channel: text(channel), pattern: name))
        }

        func subscriptionLost(_ subscription: RedisSubscription, error: RedisError) {
            events.record(.lost(error))
        }

        private func text(_ span: RawSpan) -> String {
            String(decoding: span.copiedBytes, as: UTF8.self)
        }
    }
}
