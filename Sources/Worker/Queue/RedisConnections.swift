package import Redis
package import Transport

/// Which life of which server a connection leads to.
package struct RedisServerIdentity: Equatable, Sendable {
    /// Redis' `run_id`, another one after each start.
    package let runID: String
    package let uptime: Duration

    /// From the answer to INFO; without a run id, one that no other connection gives its server.
    init(info answer: String) {
        var fields: [Substring: Substring] = [:]
        for line in answer.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1] }
        }
        runID = fields["run_id"].map(String.init) ?? "unknown-\(UInt64.random(in: .min ... .max))"
        uptime = fields["uptime_in_seconds"].flatMap { Int64($0) }.map { .seconds($0) } ?? .seconds(86_400)
    }
}

/// The worker's connections to Redis for commands: one for all, one for the blocking reads of each of the queue's
/// streams; and Redis' clock.
///
/// Tells when each is ready, keeps the clock, and tells when Redis refuses the worker for good. Confined to the loop.
package final class RedisConnections {
    /// How often Redis is asked for its time.
    static let clockInterval: Duration = .seconds(10)

    package let commands: RedisConnection
    package let messageReader: RedisConnection
    package let batchReader: RedisConnection
    /// Told first, whenever the command connection is ready: the server that it leads to.
    package var whenServerKnown: (RedisServerIdentity) -> Void = { _ in }
    package var whenCommandsReady: () -> Void = {}
    package var whenCommandsLost: () -> Void = {}
    package var whenReaderReady: (EntryStream.Kind) -> Void = { _ in }
    /// Redis does not let us in: a sentence that says why.
    package var whenRefused: (String) -> Void = { _ in }

    private let loop: EventLoop
    private let log: Log
    private let watch: ConnectionWatch
    private var clock = RedisClock()
    private var clockTimer: LoopTimer?
    private var lastError: RedisError?

    package init(settings: RedisSettings, name: String, loop: EventLoop, log: Log) {
        self.loop = loop
        self.log = log
        watch = ConnectionWatch()
        commands = RedisConnection(settings, name: "\(name)-commands", on: loop, observer: watch)
        messageReader = RedisConnection(settings, name: "\(name)-messages", on: loop, observer: watch)
        batchReader = RedisConnection(settings, name: "\(name)-batches", on: loop, observer: watch)
    }

    /// Redis' time in unix milliseconds.
    package var unixMilliseconds: Int64 {
        clock.unixMilliseconds(at: loop.now, wall: loop.unixMilliseconds)
    }

    /// Why Redis cannot be used at the moment; nil while it can.
    package var problem: String? {
        if commands.isReady, messageReader.isReady, batchReader.isReady { return nil }
        return lastError.map { "Redis cannot be reached: \($0)" } ?? "Redis is not connected yet"
    }

    package func start() {
        watch.owner = self
        commands.start()
        messageReader.start()
        batchReader.start()
    }

    package func close() {
        clockTimer?.cancel()
        commands.close()
        messageReader.close()
        batchReader.close()
    }

    fileprivate func ready(_ connection: RedisConnection) {
        guard connection === commands else {
            return whenReaderReady(connection === messageReader ? .messages : .batches)
        }
        log.info("connected to Redis")
        askServer()
        askTime()
        whenCommandsReady()
    }

    fileprivate func lost(_ connection: RedisConnection, error: RedisError) {
        lastError = error
        if connection === commands { whenCommandsLost() }
        if error.isRefusal { return whenRefused("\(error)") }
        guard connection === commands else { return }
        log.warning("Redis cannot be reached; trying again", ["error": "\(error)"])
    }

    private func askServer() {
        commands.send(RedisCommand("INFO", ["server"])) { [weak self] result in
            switch result {
            case .success(let value): self?.whenServerKnown(RedisServerIdentity(info: value.text ?? ""))
            // It may not be asked: then each connection counts as one to another server.
            case .failure(.server): self?.whenServerKnown(RedisServerIdentity(info: ""))
            case .failure: break  // The connection was lost: asked again when it is ready.
            }
        }
    }

    private func askTime() {
        clockTimer?.cancel()
        clockTimer = loop.schedule(after: Self.clockInterval) { [weak self] in self?.askTime() }
        let asked = loop.now
        commands.send(RedisCommand("TIME")) { [weak self] result in
            guard let self, case .success(let value) = result, let seconds = value[0]?.integer,
                let microseconds = value[1]?.integer
            else { return }
            let milliseconds = seconds * 1000 + microseconds / 1000
            clock.note(unixMilliseconds: milliseconds, asked: asked, answered: loop.now)
        }
    }
}

/// Passes the connections' events on; apart from their owner, since connections are given their observer when made.
private final class ConnectionWatch: RedisConnectionObserver {
    weak var owner: RedisConnections?

    func redisReady(_ connection: RedisConnection) { owner?.ready(connection) }

    func redisLost(_ connection: RedisConnection, error: RedisError) { owner?.lost(connection, error: error) }
}

extension RedisError {
    /// Whether trying again is of no use before the settings are mended.
    package var isRefusal: Bool {
        switch self {
        case .authentication, .settings: true
        case .server(let code, _): code == "NOPERM"
        default: false
        }
    }
}
