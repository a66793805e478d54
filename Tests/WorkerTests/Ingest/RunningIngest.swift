import Redis
import TestSupport
import Transport

@testable import Worker

/// A replica's ingest on a loop of its own, without the rest of the worker.
final class RunningIngest: Sendable {
    let loop: EventLoop
    let log: Recorder<String>
    private let parts: LoopConfined<Parts>

    private final class Parts: RedisConnectionObserver {
        let counters = Counters()
        var ingest: Ingest?
        var redis: RedisConnection?

        func redisReady(_ connection: RedisConnection) { ingest?.commandsReady() }
        func redisLost(_ connection: RedisConnection, error: RedisError) {}
    }

    /// Connects; `proxy` is where the subscription and the commands go instead of the server itself.
    init(
        _ server: RedisServer,
        channels: String = "*",
        proxyURL: String? = nil
    ) async throws {
        let loop = try EventLoop.onNewThread(named: "ingest")
        let log = Recorder<String>(on: loop)
        self.loop = loop
        self.log = log
        let settings = try Settings(
            environment: [
                "PUSHBRIDGE_REDIS_URL": proxyURL ?? server.url(), "PUSHBRIDGE_CHANNELS": channels,
            ],
            scope: [.redis, .ingest, .traces]
        )
        parts = try await loop.run {
            let parts = Parts()
            let name = ConsumerName.make()
            let redis = RedisConnection(settings.redis, name: name, on: loop, observer: parts)
            let keys = RedisKeys(prefix: settings.prefix)
            let now = { loop.unixMilliseconds }
            let traces = TracePublisher(
                redis: redis,
                channel: DebugChannel(settings.debugChannel),
                mode: .on,
                now: now,
                counters: parts.counters
            )
            let ingest = Ingest(
                settings: settings,
                redis: redis,
                keys: keys,
                name: name,
                traces: traces,
                counters: parts.counters,
                now: now,
                loop: loop,
                log: Log(write: { log.record(String(decoding: $0, as: UTF8.self)) })
            )
            parts.redis = redis
            parts.ingest = ingest
            redis.start()
            ingest.start()
            return LoopConfined(parts, on: loop)
        }
    }

    deinit {
        kill()
    }

    /// Ends it without a word to Redis, as a killed process would.
    func kill() {
        let parts = parts
        loop.execute {
            parts.value.ingest?.close()
            parts.value.redis?.close()
            parts.value.ingest = nil
        }
        loop.stop()
    }

    /// Stops it cleanly, and waits until it is not needed any more.
    func stop(within deadline: Duration = .seconds(10)) async throws {
        let parts = parts
        try await loop.run { parts.value.ingest?.stop() }
        try await loop.wait(for: "leaving", within: deadline) { parts.value.ingest?.isSettled ?? true }
        kill()
    }

    /// Waits until a condition on it holds.
    func wait(
        for what: String,
        within deadline: Duration = .seconds(20),
        until condition: @escaping @Sendable (Ingest) -> Bool
    ) async throws {
        let parts = parts
        try await loop.wait(for: what, within: deadline) { parts.value.ingest.map(condition) ?? false }
    }

    /// Waits until it hears, and knows who writes.
    func listens() async throws {
        try await wait(for: "listening") { $0.isListening && $0.problem == nil }
    }

    func ask<Value: Sendable>(_ question: @escaping @Sendable (Ingest) -> Value) async throws -> Value? {
        let parts = parts
        return try await loop.run { parts.value.ingest.map(question) }
    }

    func counters<Value: Sendable>(_ question: @escaping @Sendable (Counters) -> Value) async throws -> Value {
        let parts = parts
        return try await loop.run { question(parts.value.counters) }
    }
}

/// A queue as tests look at it.
final class Inbox: Sendable {
    let client: RedisClient
    /// Measures the time; apart from the replicas' loops, which may end.
    private let loop: EventLoop

    init(_ server: RedisServer) async throws {
        client = try await server.client()
        loop = try EventLoop.onNewThread(named: "inbox")
    }

    deinit {
        loop.stop()
    }

    /// The messages of all entries, oldest first.
    func messages() async throws -> [String] {
        try await entries().compactMap { $0["message"] }
    }

    /// The fields of all entries, oldest first.
    func entries() async throws -> [[String: String]] {
        let reply = try await client.call("XRANGE", "push:{queue}:messages", "-", "+")
        return (reply.elements ?? []).map { entry in
            let fields = entry[1]?.elements ?? []
            return stride(from: 0, to: fields.count - 1, by: 2).reduce(into: [:]) { result, index in
                result[fields[index].text ?? ""] = fields[index + 1].text
            }
        }
    }

    /// Waits until there are so many entries.
    func wait(for count: Int, within deadline: Duration = .seconds(20)) async throws {
        let end = LoopInstant.current + deadline
        while true {
            let length = try await client.call("XLEN", "push:{queue}:messages").integer ?? 0
            if length >= count { return }
            guard LoopInstant.current < end else {
                throw TookTooLong(description: "\(length) of \(count) entries")
            }
            try await pause(.milliseconds(5))
        }
    }

    /// Publishes messages with a push key, numbered from a start.
    func publish(_ numbers: Range<Int>, on channel: String = "chat") async throws {
        _ = try await client.pipeline(numbers.map { RedisCommand("PUBLISH", [channel, Self.message($0)]) })
    }

    /// Waits without holding a thread.
    func pause(_ duration: Duration) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            loop.execute { self.loop.schedule(after: duration) { continuation.resume() } }
        }
    }

    static func message(_ number: Int) -> String { #"{"pn_fcm":{},"number":\#(number)}"# }
}
