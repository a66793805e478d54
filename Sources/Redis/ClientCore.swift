import Transport

/// The part of a client that lives on its loop.
final class ClientCore: RedisConnectionObserver {
    private struct Waiting {
        let run: (RedisConnection) -> Void
        let fail: (RedisError) -> Void
    }

    /// How long a server that loads its data is waited for.
    private static let loadingDeadline = Duration.seconds(30)

    private let settings: RedisSettings
    private let name: String
    private let timings: RedisTimings
    private let loop: EventLoop
    private var connection: RedisConnection?
    private var waiting: [Int: Waiting] = [:]
    private var subscriptions: [Int: (RedisSubscription, EventForwarder)] = [:]
    private var nextNumber = 0
    /// Told once whether the connection came about.
    private var started: ((Result<Void, RedisError>) -> Void)?

    init(_ settings: RedisSettings, name: String, timings: RedisTimings, on loop: EventLoop) {
        self.settings = settings
        self.name = name
        self.timings = timings
        self.loop = loop
    }

    func start(_ done: @escaping (Result<Void, RedisError>) -> Void) {
        started = done
        let connection = RedisConnection(settings, name: name, timings: timings, on: loop, observer: self)
        self.connection = connection
        connection.start()
        let patience = Self.loadingDeadline
        loop.schedule(after: patience) { [self] in
            tellStarted(.failure(.overdue("the server still loads its data after \(patience)")))
        }
    }

    func close() {
        connection?.close()
        for (subscription, forwarder) in subscriptions.values {
            subscription.close()
            forwarder.finish()
        }
        subscriptions = [:]
        failAll(.connectionLost)
    }

    /// Runs the body now, or when the connection is back; fails if that takes too long.
    func whenReady<Value>(
        _ done: @escaping (Result<Value, RedisError>) -> Void,
        _ body: @escaping (RedisConnection) -> Void
    ) {
        guard let connection else { return done(.failure(.notConnected)) }
        if connection.isReady { return body(connection) }
        let number = newNumber()
        waiting[number] = Waiting(run: body) { done(.failure($0)) }
        loop.schedule(after: timings.connectDeadline) { [self] in
            waiting.removeValue(forKey: number)?.fail(.notConnected)
        }
    }

    func subscribe(
        _ patterns: [String],
        _ channels: [String],
        _ continuation: AsyncStream<RedisEvent>.Continuation
    ) -> Int {
        let forwarder = EventForwarder(continuation)
        let subscription = RedisSubscription(
            settings,
            name: name,
            patterns: patterns.map { Array($0.utf8) },
            channels: channels.map { Array($0.utf8) },
            timings: timings,
            on: loop,
            handler: forwarder
        )
        let number = newNumber()
        subscriptions[number] = (subscription, forwarder)
        subscription.start()
        return number
    }

    func unsubscribe(_ number: Int) {
        subscriptions.removeValue(forKey: number)?.0.close()
    }

    func redisReady(_ connection: RedisConnection) {
        tellStarted(.success(()))
        let ready = waiting.sorted { $0.key < $1.key }
        waiting = [:]
        for (_, entry) in ready { entry.run(connection) }
    }

    func redisLost(_ connection: RedisConnection, error: RedisError) {
        guard started != nil else {
            if case .authentication = error { failAll(error) }
            return
        }
        guard error.code == "LOADING" else { return tellStarted(.failure(error)) }
    }

    private func tellStarted(_ result: Result<Void, RedisError>) {
        started?(result)
        started = nil
    }

    private func failAll(_ error: RedisError) {
        tellStarted(.failure(error))
        let entries = waiting.values
        waiting = [:]
        for entry in entries { entry.fail(error) }
    }

    private func newNumber() -> Int {
        nextNumber += 1
        return nextNumber
    }
}

/// Passes what a subscription hears to an asynchronous stream.
private final class EventForwarder: RedisSubscriptionHandler {
    private let continuation: AsyncStream<RedisEvent>.Continuation

    init(_ continuation: AsyncStream<RedisEvent>.Continuation) {
        self.continuation = continuation
    }

    func finish() {
        continuation.finish()
    }

    func subscriptionReady(_ subscription: RedisSubscription, joined: Result<RESPValue, RedisError>?) {
        continuation.yield(.ready)
    }

    func subscription(
        _ subscription: RedisSubscription,
        message payload: RawSpan,
        channel: RawSpan,
        pattern: RawSpan?
    ) {
        continuation.yield(.message(channel: channel.copiedBytes, payload: payload.copiedBytes))
    }

    func subscriptionLost(_ subscription: RedisSubscription, error: RedisError) {
        continuation.yield(.lost(error))
    }
}

/// Collects the replies of several commands, and tells them when the last one has come.
final class ReplyCollection {
    private var replies: [RESPValue] = []
    private var missing: Int
    private var error: RedisError?
    private let done: (Result<[RESPValue], RedisError>) -> Void

    init(count: Int, _ done: @escaping (Result<[RESPValue], RedisError>) -> Void) {
        missing = count
        self.done = done
    }

    func add(_ reply: Result<RESPValue, RedisError>) {
        switch reply {
        case .success(let value): replies.append(value)
        case .failure(let failure): error = error ?? failure
        }
        missing -= 1
        guard missing == 0 else { return }
        done(error.map { .failure($0) } ?? .success(replies))
    }
}
