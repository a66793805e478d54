import Encoding
package import Redis

/// Publishes traces on the debug channel, and keeps to `PUSHBRIDGE_DEBUG`.
///
/// Confined to the worker's loop. A trace that cannot be published is counted and lost: traces are not worth a queue.
package final class TracePublisher {
    private let redis: RedisConnection
    private let channel: DebugChannel
    private let mode: TraceMode
    private let now: () -> Int64
    private let counters: Counters

    package init(
        redis: RedisConnection,
        channel: DebugChannel,
        mode: TraceMode,
        now: @escaping () -> Int64,
        counters: Counters
    ) {
        self.redis = redis
        self.channel = channel
        self.mode = mode
        self.now = now
        self.counters = counters
    }

    /// The traces of a message; nil when it does not ask for them, or they are turned off.
    package func trace(id: String, channel: [UInt8], isAsked: Bool) -> MessageTrace? {
        guard isAsked, mode != .off else { return nil }
        return MessageTrace(publisher: self, id: id, channel: channel)
    }

    /// A device token as traces show it.
    package func shown(_ token: [UInt8]) -> String {
        mode == .short ? "\(ShortenedToken(token))" : String(decoding: token, as: UTF8.self)
    }

    package func publish(_ trace: TraceFields, text: String, channel: [UInt8]) {
        let bytes = trace.finished(time: now(), text: text)
        var command = RedisCommand("PUBLISH", capacity: bytes.count + 128)
        command.append(self.channel.name(for: channel))
        command.append(bytes)
        redis.send(command) { [counters] result in
            if case .success = result { return }
            counters.lostTraces += 1
        }
    }
}
