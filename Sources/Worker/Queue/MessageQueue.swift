package import Redis
package import Transport

/// The durable queue: the Redis stream `P{queue}:messages`, read as a consumer group.
///
/// Ingest adds messages here, as any program may; dispatch takes them from here and acknowledges each when all its
/// pushes have an outcome. The stream's length is the number of unfinished messages. Confined to the worker's loop.
package final class MessageQueue {
    /// The consumer group of all workers.
    package static let group = "pushbridge"
    /// Entries asked for in one read.
    static let maximumPerRead = 100
    /// How long one read waits for entries, before it is asked again.
    static let readPatience: Duration = .seconds(2)
    /// How long to wait after Redis has refused a command.
    static let refusalPause: Duration = .seconds(1)

    private let loop: EventLoop
    private let commands: RedisConnection
    private let reader: RedisConnection
    private let key: [UInt8]
    private let consumer: String
    private let log: Log
    private let counters: Counters
    private let takeover: Takeover
    private var acknowledgements = Acknowledgements()
    private var acknowledgementRetry: LoopTimer?
    private var isReading = false
    /// Redis' number for the reader's connection.
    private var readerID: Int64?
    /// Whether the consumer group was there when it was looked at last.
    package private(set) var isReadable = false
    private var isStopped = false

    /// How many more messages may be taken.
    package var room: () -> Int = { 0 }
    /// The queue can be read, for the first time or again.
    package var whenReading: () -> Void = {}
    /// Takes a message on.
    package var whenTaken: (QueuedMessage) -> Void = { _ in }

    /// `reader` is a connection for this queue's blocking reads alone; `commands` may serve others as well.
    package init(
        loop: EventLoop,
        commands: RedisConnection,
        reader: RedisConnection,
        keys: RedisKeys,
        consumer: String,
        counters: Counters,
        log: Log
    ) {
        self.loop = loop
        self.commands = commands
        self.reader = reader
        self.consumer = consumer
        self.counters = counters
        self.log = log
        key = keys.messages
        takeover = Takeover(loop: loop, redis: commands, key: key, consumer: consumer, log: log)
        takeover.room = { [unowned self] in room() }
        takeover.whenClaimed = { [unowned self] entry in take(entry) }
    }

    // MARK: Adding

    /// Adds a message; the answer says whether Redis has it.
    package func add(channel: [UInt8], message: [UInt8], _ done: @escaping (Result<RESPValue, RedisError>) -> Void) {
        var command = RedisCommand("XADD", capacity: message.count + channel.count + 128)
        command.append(key)
        command.append("*")
        command.append("channel")
        command.append(channel)
        command.append("message")
        command.append(message)
        commands.send(command, done)
    }

    // MARK: Taking

    /// The reader connection is ready, or there is room again: takes what waits.
    package func read() {
        guard !isStopped, !isReading, reader.isReady else { return }
        let count = min(room(), Self.maximumPerRead)
        guard count > 0 else { return }
        isReading = true
        reader.send(readCommand(count: count), replyDeadline: Self.readPatience + .seconds(5)) { [self] result in
            isReading = false
            arrived(result)
        }
    }

    private func readCommand(count: Int) -> RedisCommand {
        var command = RedisCommand("XREADGROUP")
        command.append("GROUP")
        command.append(Self.group)
        command.append(consumer)
        command.append("COUNT")
        command.append(count)
        command.append("BLOCK")
        command.append(Self.readPatience.wholeMilliseconds)
        command.append("STREAMS")
        command.append(key)
        command.append(">")
        return command
    }

    /// Takes no more messages but those that Redis has given already.
    package func stop() {
        isStopped = true
        takeover.stop()
        guard isReading, let readerID else { return }
        // The read that waits is ended with what it has: closing the connection could lose an entry on its way, which
        // would then wait for another worker to take it over.
        commands.send(RedisCommand("CLIENT", ["UNBLOCK", readerID])) { _ in }
    }

    private func arrived(_ result: Result<RESPValue, RedisError>) {
        switch result {
        case .success(.array(let streams)):
            for stream in streams {
                guard case .array(let parts) = stream, parts.count == 2, case .array(let entries) = parts[1] else {
                    continue
                }
                for entry in entries { take(entry) }
            }
            read()
        case .failure(.server("NOGROUP", _)):
            createGroup()
        case .failure(.server(_, let text)):
            log.error("the queue cannot be read", ["error": text])
            loop.schedule(after: Self.refusalPause) { [weak self] in self?.read() }
        case .success:
            read()
        case .failure:
            break  // The connection was lost: `read` is called when it is ready again.
        }
    }

    /// Makes the consumer group, and the stream with it, then reads.
    ///
    /// From the stream's start, so that entries which were added before any worker ran are served.
    package func createGroup() {
        reader.send(RedisCommand("CLIENT", ["ID"])) { [self] result in
            if case .success(let value) = result { readerID = value.integer }
        }
        reader.send(RedisCommand("XGROUP", ["CREATE", key, Self.group, "0", "MKSTREAM"])) { [self] result in
            switch result {
            case .success, .failure(.server("BUSYGROUP", _)): groupIsThere()
            case .failure(.server("OOM", let text)): lookForGroup(refusal: text)
            case .failure(.server(_, let text)): groupRefused(text)
            case .failure: break  // The connection was lost: called again when it is ready.
            }
        }
    }

    /// A full Redis makes no group, also where there is one: its messages must be read, or it stays full.
    private func lookForGroup(refusal: String) {
        reader.send(RedisCommand("XPENDING", [key, Self.group])) { [self] result in
            switch result {
            case .success: groupIsThere()
            case .failure(.server): groupRefused(refusal)
            case .failure: break
            }
        }
    }

    private func groupIsThere() {
        isReadable = true
        whenReading()
        read()
    }

    private func groupRefused(_ text: String) {
        log.error("the queue's consumer group cannot be made", ["error": text])
        loop.schedule(after: Self.refusalPause) { [weak self] in self?.createGroup() }
    }

    private func take(_ value: RESPValue) {
        switch QueueEntry(value) {
        case .message(let message):
            if takeover.take(message.entryID) { whenTaken(message) }
        case .malformed(let entryID, let reason):
            counters.malformedEntries += 1
            let id = String(decoding: entryID, as: UTF8.self)
            log.warning("a queue entry is no message and was dropped", ["entry": id, "reason": reason])
            acknowledge(entryID)
        case nil:
            counters.malformedEntries += 1
            log.warning("Redis gave a queue entry that is none")
        }
    }

    // MARK: Acknowledging

    /// Every push of the entry's message has an outcome: it leaves the queue.
    ///
    /// Sent at the end of the loop's turn.
    package func acknowledge(_ entryID: [UInt8]) {
        if acknowledgements.add(entryID) {
            loop.atEndOfTurn { [weak self] in self?.sendAcknowledgements() }
        }
    }

    /// Whether every finished message has left the queue, and no entry may be on its way.
    package var isSettled: Bool { acknowledgements.isEmpty && !isReading }

    /// The command connection is ready: what was not confirmed is sent again, which does no harm.
    package func commandsReady() {
        acknowledgements.connectionLost()
        sendAcknowledgements()
        takeover.redisReady()
    }

    private func sendAcknowledgements() {
        guard commands.isReady, let batch = acknowledgements.takeBatch() else { return }
        var delete = RedisCommand("XDEL", capacity: 64 + 32 * batch.count)
        delete.append(key)
        var acknowledge = RedisCommand("XACK", capacity: 64 + 32 * batch.count)
        acknowledge.append(key)
        acknowledge.append(Self.group)
        for entryID in batch {
            delete.append(entryID)
            acknowledge.append(entryID)
        }
        // Deleted before it is acknowledged: a crash between the two must not leave an entry that nobody reads.
        var refusal: RedisError?
        commands.send(delete) { result in
            if case .failure(let error) = result { refusal = error }
        }
        commands.send(acknowledge) { [self] result in
            if case .failure(let error) = result { refusal = refusal ?? error }
            switch refusal {
            case nil:
                acknowledgements.confirmed(batch)
                takeover.release(batch)
            case .server(_, let text): acknowledgementsRefused(batch, text)
            default: break  // The connection was lost: they are sent again when it is ready.
            }
        }
    }

    /// Redis answers, but cannot do it now (a script runs, its disk is full): told again a little later.
    private func acknowledgementsRefused(_ batch: [[UInt8]], _ text: String) {
        acknowledgements.refused(batch)
        guard acknowledgementRetry == nil else { return }
        log.error("Redis does not let finished messages leave the queue", ["error": text])
        acknowledgementRetry = loop.schedule(after: Self.refusalPause) { [weak self] in
            self?.acknowledgementRetry = nil
            self?.sendAcknowledgements()
        }
    }
}
