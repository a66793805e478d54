import Synchronization
import Transport

/// Redis for commands and tests: a connection on a thread of its own, used with `await`.
///
/// Any task. Must be closed. A command waits for the connection to come back for as long as a connection may take.
package final class RedisClient: Sendable {
    private let loop: EventLoop
    private let core: LoopConfined<ClientCore>
    private let isClosed = Mutex(false)

    private init(loop: EventLoop, core: LoopConfined<ClientCore>) {
        self.loop = loop
        self.core = core
    }

    deinit {
        close()
    }

    /// Connects and logs in; the first failure is final, except that a server which loads its data is waited for.
    package static func connect(
        _ settings: RedisSettings,
        name: String,
        timings: RedisTimings = RedisTimings()
    ) async throws(RedisError) -> RedisClient {
        let loop: EventLoop
        let core: LoopConfined<ClientCore>
        do {
            loop = try EventLoop.onNewThread(named: "redis")
            core = try await loop.run {
                LoopConfined(ClientCore(settings, name: name, timings: timings, on: loop), on: loop)
            }
        } catch {
            throw .connection(error as? TransportError ?? .stopped)
        }
        let client = RedisClient(loop: loop, core: core)
        do throws(RedisError) {
            try await client.perform { core, done in core.start(done) }
        } catch {
            client.close()
            throw error
        }
        return client
    }

    /// Ends all connections; commands in flight fail.
    package func close() {
        isClosed.withLock { isClosed in
            guard !isClosed else { return }
            isClosed = true
            let core = core
            loop.execute { core.value.close() }
            loop.stop()
        }
    }

    /// Sends a command made of words and waits for its reply; error replies are thrown.
    @discardableResult
    package func call(_ first: any RedisArgument, _ rest: any RedisArgument...) async throws(RedisError) -> RESPValue {
        try await call(RedisCommand(first, rest))
    }

    /// Sends a command and waits for its reply; error replies are thrown.
    @discardableResult
    package func call(_ command: RedisCommand) async throws(RedisError) -> RESPValue {
        try await perform { core, done in core.whenReady(done) { $0.send(command, done) } }
    }

    /// Sends commands together and waits for all replies; the first error reply is thrown.
    package func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RESPValue] {
        guard !commands.isEmpty else { return [] }
        return try await perform { core, done in
            core.whenReady(done) { connection in
                let replies = ReplyCollection(count: commands.count, done)
                for command in commands { connection.send(command, replies.add) }
            }
        }
    }

    /// Sends commands as one transaction and waits for the array of their replies.
    @discardableResult
    package func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> RESPValue {
        try await perform { core, done in core.whenReady(done) { $0.sendTransaction(commands, done) } }
    }

    /// Runs a script and waits for its reply.
    @discardableResult
    package func evaluate(
        _ script: RedisScript,
        keys: [[UInt8]],
        arguments: [[UInt8]]
    ) async throws(RedisError) -> RESPValue {
        try await perform { core, done in
            core.whenReady(done) { $0.evaluate(script, keys: keys, arguments: arguments, done) }
        }
    }

    /// Uses the connection on its loop; `done` must be called once, with the result.
    @discardableResult
    package func withConnection<Value: Sendable>(
        _ body: @escaping @Sendable (RedisConnection, @escaping (Result<Value, RedisError>) -> Void) -> Void
    ) async throws(RedisError) -> Value {
        try await perform { core, done in core.whenReady(done) { body($0, done) } }
    }

    /// Hears messages on a further connection, until the stream is dropped or the client is closed.
    ///
    /// The first event is `ready`, or `lost` if it could not be had. A reader that falls 65,536 events behind
    /// loses the newest ones.
    package func subscribe(patterns: [String] = [], channels: [String] = []) -> AsyncStream<RedisEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: RedisEvent.self,
            bufferingPolicy: .bufferingOldest(65_536)
        )
        isClosed.withLock { isClosed in
            guard !isClosed else { return continuation.finish() }
            let core = core
            let loop = loop
            loop.execute {
                let number = core.value.subscribe(patterns, channels, continuation)
                continuation.onTermination = { _ in
                    loop.execute { core.value.unsubscribe(number) }
                }
            }
        }
        return stream
    }

    /// Runs the body on the loop and waits until it has called back.
    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (ClientCore, @escaping (Result<Value, RedisError>) -> Void) -> Void
    ) async throws(RedisError) -> Value {
        let result: Result<Value, RedisError> = await withCheckedContinuation { continuation in
            isClosed.withLock { isClosed in
                guard !isClosed else { return continuation.resume(returning: .failure(.notConnected)) }
                let core = core
                loop.execute { body(core.value) { continuation.resume(returning: $0) } }
            }
        }
        return try result.get()
    }
}

/// What a subscription of a ``RedisClient`` hears.
package enum RedisEvent: Equatable, Sendable {
    /// Every name is confirmed; messages follow.
    case ready
    case message(channel: [UInt8], payload: [UInt8])
    /// Nothing is heard until the next `ready`.
    case lost(RedisError)
}
