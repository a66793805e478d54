package import Transport

/// What a connection tells its owner; all calls on the connection's loop.
package protocol RedisConnectionObserver: AnyObject {
    /// Commands can be sent, for the first time or again. Another server may be behind it than before.
    func redisReady(_ connection: RedisConnection)
    /// It was lost, or an attempt failed; it tries again by itself after ``RedisConnection/retryDelay``.
    ///
    /// With `authentication` the user or the password is wrong, and trying again is of no use.
    func redisLost(_ connection: RedisConnection, error: RedisError)
}

/// A connection for commands: replies come in the order of the commands, and many may be in flight.
///
/// Confined to its loop. Commands of one turn are sent in one go. It comes back by itself, with back-off; what was in
/// flight fails with `connectionLost` before the observer is told. Must be closed by its owner; until then it lives,
/// and holds its observer.
package final class RedisConnection: RedisLinkOwner {
    package typealias Reply = (Result<RESPValue, RedisError>) -> Void

    /// No more commands are taken while so much waits to be sent.
    private static let maximumPendingBytes = 67_108_864

    private var observer: (any RedisConnectionObserver)?
    private let link: RedisLink
    private var decoder = RESPDecoder()
    private var queue = ReplyQueue()
    /// Scripts that this connection has sent in full, so that the server knows them by name.
    private var sentScripts: Set<String> = []

    /// The loop that it is confined to.
    package var loop: EventLoop { link.loop }

    package init(
        _ settings: RedisSettings,
        name: String,
        timings: RedisTimings = RedisTimings(),
        on loop: EventLoop,
        observer: any RedisConnectionObserver
    ) {
        link = RedisLink(settings, name: name, timings: timings, on: loop)
        self.observer = observer
        link.owner = self
    }

    /// Begins to connect; once.
    package func start() {
        link.start()
    }

    /// Ends it for good; what is in flight fails with `connectionLost`, at the end of the turn.
    package func close() {
        link.close()
        observer = nil
        let entries = queue.takeAll()
        guard !entries.isEmpty else { return }
        link.loop.atEndOfTurn {
            for entry in entries { entry.receiver(.failure(.connectionLost)) }
        }
    }

    /// Drops the connection and makes another, after it was found out that nothing comes over it.
    package func restart(because reason: String) {
        link.fail(.overdue(reason))
    }

    /// Whether commands can be sent now.
    package var isReady: Bool { link.isEstablished }

    /// How long it waits before the next attempt, while it waits.
    package var retryDelay: Duration? { link.retryDelay }

    /// How many commands wait for their reply.
    package var inFlightCount: Int { queue.count }

    /// Sends a command; error replies come as failures.
    ///
    /// Without a connection it fails with `notConnected` at the end of the turn. A command that blocks on the server
    /// needs a `replyDeadline` longer than it may block.
    package func send(_ command: RedisCommand, replyDeadline: Duration? = nil, _ reply: @escaping Reply) {
        guard canSend(reply) else { return }
        write(command, replyDeadline, reply)
    }

    /// Sends commands as one transaction (MULTI … EXEC); the reply is the array of their replies.
    ///
    /// If one of them is refused when it is queued, none is carried out, and its error is the failure. Errors
    /// of commands that were carried out are elements of the array.
    package func sendTransaction(_ commands: [RedisCommand], _ reply: @escaping Reply) {
        guard canSend(reply) else { return }
        let refusal = FirstError()
        write(RedisCommand("MULTI"), nil, refusal.note)
        for command in commands { write(command, nil, refusal.note) }
        write(RedisCommand("EXEC"), nil) { result in
            if case .failure(.server(code: "EXECABORT", _)) = result, let error = refusal.error {
                reply(.failure(error))
            } else {
                reply(result)
            }
        }
    }

    /// Runs a script; it is sent in full the first time on each connection, and when the server has forgotten it.
    package func evaluate(
        _ script: RedisScript,
        keys: [[UInt8]],
        arguments: [[UInt8]],
        _ reply: @escaping Reply
    ) {
        guard canSend(reply) else { return }
        guard sentScripts.contains(script.digest) else {
            // In full, so that those which follow on its heels find it there: their order is kept.
            sentScripts.insert(script.digest)
            return write(script.command(keys: keys, arguments: arguments), nil, reply)
        }
        write(script.shortCommand(keys: keys, arguments: arguments), nil) { [self] result in
            guard case .failure(.server(code: "NOSCRIPT", _)) = result else { return reply(result) }
            send(script.command(keys: keys, arguments: arguments), reply)
        }
    }

    /// The same for scripts that run often: `fill` appends the number of keys, the keys and the arguments.
    ///
    /// It is called again when the server has forgotten the script. `capacity` is about what it appends, in bytes.
    package func evaluate(
        _ script: RedisScript,
        capacity: Int,
        fill: @escaping (inout RedisCommand) -> Void,
        _ reply: @escaping Reply
    ) {
        guard canSend(reply) else { return }
        let isKnown = sentScripts.contains(script.digest)
        if !isKnown { sentScripts.insert(script.digest) }
        var command = script.start(isShort: isKnown, capacity: capacity)
        fill(&command)
        guard isKnown else { return write(command, nil, reply) }
        write(command, nil) { [self] result in
            guard case .failure(.server(code: "NOSCRIPT", _)) = result else { return reply(result) }
            var command = script.start(isShort: false, capacity: capacity)
            fill(&command)
            send(command, reply)
        }
    }

    private func canSend(_ reply: @escaping Reply) -> Bool {
        link.loop.preconditionOnLoop()
        if link.isEstablished, link.pendingOutputBytes < Self.maximumPendingBytes { return true }
        link.loop.atEndOfTurn { reply(.failure(.notConnected)) }
        return false
    }

    private func write(_ command: RedisCommand, _ deadline: Duration?, _ receiver: @escaping Reply) {
        link.write(command)
        queue.append(
            ReplyQueue.Entry(
                sentAt: link.loop.now,
                deadline: deadline ?? link.timings.replyDeadline,
                receiver: receiver
            )
        )
    }
}

// MARK: The link

extension RedisConnection {
    func linkEstablished(_ link: RedisLink) {
        observer?.redisReady(self)
    }

    func link(_ link: RedisLink, received bytes: RawSpan) {
        // A receiver may close the connection: this decoder lives on until it returns.
        let decoder = decoder
        let error = decoder.decode(bytes) { value in
            receive(value)
            return decoder === self.decoder && link.isEstablished
        }
        if let error, decoder === self.decoder { link.fail(error) }
    }

    private func receive(_ value: RESPValue) {
        guard let entry = queue.takeFirst() else {
            return link.fail(.invalidReply("a reply without a command"))
        }
        guard let error = value.error else { return entry.receiver(.success(value)) }
        entry.receiver(.failure(error))
        if error.asksForReconnection { link.fail(error) }
    }

    func linkTick(_ link: RedisLink) {
        let now = link.loop.now
        if let first = queue.first {
            let waited = now - max(first.sentAt, link.lastInputAt)
            if waited > first.deadline { link.fail(.overdue("no reply to a command within \(first.deadline)")) }
        } else if now - link.lastInputAt >= link.timings.idleInterval {
            write(RedisCommand("PING"), nil) { _ in }
        }
    }

    func linkLost(_ link: RedisLink, error: RedisError) {
        decoder = RESPDecoder()
        sentScripts = []
        for entry in queue.takeAll() { entry.receiver(.failure(.connectionLost)) }
        observer?.redisLost(self, error: error)
    }
}

/// Remembers the first error among several replies.
private final class FirstError {
    private(set) var error: RedisError?

    func note(_ result: Result<RESPValue, RedisError>) {
        if error == nil, case .failure(let error) = result { self.error = error }
    }
}
