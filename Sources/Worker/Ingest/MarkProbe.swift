import Redis
import Transport

/// Sends one beat on a connection of its own, when neither beats nor marks come back over the others.
///
/// If it is answered Redis works, and the others are deaf; if Redis itself is busy nothing happens. Confined to the
/// loop; must be closed.
final class MarkProbe: RedisConnectionObserver {
    let startedAt: LoopInstant
    private let arguments: [[UInt8]]
    private let key: [UInt8]
    private let whenAnswered: (IngestBeatAnswer) -> Void
    private var connection: RedisConnection?

    /// `arguments` are those of the script `beat`; `whenAnswered` is called at most once.
    init(
        _ settings: RedisSettings,
        name: String,
        key: [UInt8],
        arguments: [[UInt8]],
        on loop: EventLoop,
        whenAnswered: @escaping (IngestBeatAnswer) -> Void
    ) {
        startedAt = loop.now
        self.key = key
        self.arguments = arguments
        self.whenAnswered = whenAnswered
        let connection = RedisConnection(settings, name: "\(name)-probe", on: loop, observer: self)
        self.connection = connection
        connection.start()
    }

    func close() {
        connection?.close()
        connection = nil
    }

    func redisReady(_ connection: RedisConnection) {
        connection.evaluate(IngestScripts.beat, keys: [key], arguments: arguments) { [weak self] result in
            guard let self, self.connection != nil, case .success(let reply) = result else { return }
            if let answer = IngestBeatAnswer(reply) { whenAnswered(answer) }
        }
    }

    func redisLost(_ connection: RedisConnection, error: RedisError) {}
}
