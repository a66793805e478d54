package import Redis
package import Transport

/// An entry that Redis has given to this worker.
package struct TakenEntry {
    /// `[id, [field, value, …]]`.
    package let value: RESPValue
    package let entryID: [UInt8]
    /// How often it had been given to workers that then died; 0 for a new one.
    package let earlierDeliveries: Int
    /// Whether another worker may have begun with it.
    package let isTakenOver: Bool
}

/// One Redis stream, read as a consumer group: each entry goes to one worker, which acknowledges it at the very end.
///
/// Confined to the worker's loop.
package final class EntryStream {
    /// The streams of the queue.
    package enum Kind: String, CaseIterable, Sendable {
        /// The inbox: messages.
        case messages
        /// Parts of messages.
        case batches
    }

    /// The consumer group of all workers.
    package static let group = "pushbridge"
    /// How long one read waits for entries, before it is asked again.
    static let readPatience: Duration = .seconds(2)
    /// How long to wait after Redis has refused a command.
    static let refusalPause: Duration = .seconds(1)
    /// What was asked for longer ago, and is given only now, may belong to another worker.
    static let promptness: Duration = readPatience + .milliseconds(500)

    package let kind: Kind
    private let loop: EventLoop
    private let commands: RedisConnection
    private let reader: RedisConnection
    private let key: [UInt8]
    private let consumer: String
    private let maximumPerRead: Int
    private let ownership: Ownership
    private let recent: RecentWrites
    private let log: Log
    private let takeover: Takeover
    private var acknowledgements = Acknowledgements()
    private var acknowledgementRetry: LoopTimer?
    private var isReading = false
    /// Redis' number for the reader's connection.
    private var readerID: Int64?
    /// Why the stream cannot be read, when it was tried last.
    private var refusal: String?
    private var isStopped = false

    /// Whether the consumer group was there when it was looked at last.
    package private(set) var isReadable = false
    /// How many more entries may be taken.
    package var room: () -> Int = { 0 }
    /// Whether an entry may be taken that may have killed its workers.
    package var mayTakeSuspect: () -> Bool = { false }
    /// The stream can be read, for the first time or again.
    package var whenReading: () -> Void = {}
    /// Takes an entry on.
    package var whenTaken: (TakenEntry) -> Void = { _ in }
    /// Another second has passed, and own entries were shown to be alive.
    package var whenRefreshed: () -> Void = {}
    /// An entry belongs to another worker now, or has left the queue; answers whether it was served here.
    package var whenLost: ([UInt8]) -> Bool = { _ in false }
    /// An answer that is no entry.
    package var whenUnreadable: () -> Void = {}

    /// `reader` is a connection for this stream's blocking reads alone; `commands` may serve others as well.
    package init(
        _ kind: Kind,
        key: [UInt8],
        consumer: String,
        maximumPerRead: Int,
        commands: RedisConnection,
        reader: RedisConnection,
        ownership: Ownership,
        recent: RecentWrites,
        loop: EventLoop,
        log: Log
    ) {
        self.kind = kind
        self.key = key
        self.consumer = consumer
        self.maximumPerRead = maximumPerRead
        self.commands = commands
        self.reader = reader
        self.ownership = ownership
        self.recent = recent
        self.loop = loop
        self.log = log
        takeover = Takeover(
            kind: kind,
            key: key,
            consumer: consumer,
            redis: commands,
            ownership: ownership,
            loop: loop,
            log: log
        )
        takeover.room = { [unowned self] in (room(), mayTakeSuspect() ? 1 : 0) }
        takeover.whenClaimed = { [unowned self] entry, deliveries, askedAt in
            take(entry, askedAt: askedAt, earlierDeliveries: deliveries, isTakenOver: true)
        }
        takeover.whenLost = { [unowned self] lost in
            let count = lost.count { whenLost($0) }
            guard count > 0 else { return }
            log.info("entries are served by other workers now", ["stream": kind.rawValue, "entries": count])
        }
        // Room may come of much that tells nobody.
        takeover.whenRefreshed = { [unowned self] in
            whenRefreshed()
            if isReadable { read() }
        }
    }

    /// Why the stream cannot be read; nil while it can.
    package var problem: String? {
        if let refusal { return "the stream of \(kind.rawValue) cannot be read: \(refusal)" }
        return isReadable && reader.isReady ? nil : "the stream of \(kind.rawValue) is not read: no connection to Redis"
    }

    /// The command connection is ready: what was not confirmed is sent again, which does no harm.
    package func commandsReady() {
        acknowledgements.connectionLost()
        sendAcknowledgements()
        takeover.redisReady()
    }

    /// Redis was started a short time ago.
    package func redisWasAway() { takeover.redisWasAway() }

    /// Looks at once for entries that nobody serves.
    package func look() { takeover.look() }

    // MARK: Reading

    /// The reader connection is ready, or there is room again: takes what waits.
    package func read() {
        guard !isStopped, !isReading, reader.isReady else { return }
        let count = min(room(), maximumPerRead)
        guard count > 0 else { return }
        isReading = true
        let askedAt = loop.now
        reader.send(readCommand(count: count), replyDeadline: Self.readPatience + .seconds(5)) { [self] result in
            isReading = false
            arrived(result, askedAt: askedAt)
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

    private func arrived(_ result: Result<RESPValue, RedisError>, askedAt: LoopInstant) {
        switch result {
        case .success(let value):
            refusal = nil
            let entries = (value.elements ?? []).flatMap { $0[1]?.elements ?? [] }
            let isDoubtful = ownership.isDoubtful(askedAt: askedAt, patience: Self.promptness)
            if isDoubtful, !entries.isEmpty {
                takeover.verify(entries, entryID: { $0[0]?.bytes }) { [self] in take($0, askedAt: $1) }
            } else {
                take(entries, askedAt: askedAt)
            }
            read()
        case .failure(.server("NOGROUP", _)):
            createGroup()
        case .failure(.server(_, let text)):
            if refusal != text { log.error("the queue cannot be read", ["stream": kind.rawValue, "error": text]) }
            refusal = text
            loop.schedule(after: Self.refusalPause) { [self] in read() }
        case .failure:
            break  // The connection was lost: `read` is called when it is ready again.
        }
    }

    private func take(_ entries: [RESPValue], askedAt: LoopInstant) {
        for entry in entries { take(entry, askedAt: askedAt, earlierDeliveries: 0, isTakenOver: false) }
    }

    private func take(_ entry: RESPValue, askedAt: LoopInstant, earlierDeliveries: Int, isTakenOver: Bool) {
        guard let entryID = entry[0]?.bytes else { return whenUnreadable() }
        guard takeover.take(entryID, askedAt: askedAt) else { return }
        whenTaken(
            TakenEntry(
                value: entry,
                entryID: entryID,
                earlierDeliveries: earlierDeliveries,
                isTakenOver: isTakenOver
            )
        )
    }

    // MARK: The group

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
        refusal = nil
        whenReading()
        read()
    }

    private func groupRefused(_ text: String) {
        if refusal != text {
            log.error("the queue's consumer group cannot be made", ["stream": kind.rawValue, "error": text])
        }
        refusal = text
        loop.schedule(after: Self.refusalPause) { [self] in if !isStopped { createGroup() } }
    }

    // MARK: Stopping

    /// Takes no more entries but those that Redis has given already.
    package func stop() {
        isStopped = true
        takeover.stop()
        guard isReading, let readerID else { return }
        // The read that waits is ended with what it has: closing the connection could lose an entry on its way, which
        // would then wait for another worker to take it over.
        commands.send(RedisCommand("CLIENT", ["UNBLOCK", readerID])) { _ in }
    }

    /// Ends everything; entries that are still owned are left to other workers when they look dead.
    package func close() {
        isStopped = true
        takeover.close()
    }

    /// Whether every finished entry has left the stream, and none may be on its way.
    package var isSettled: Bool { acknowledgements.isEmpty && !isReading }

    /// Says how often these entries count as given, if they are still this worker's.
    func setDeliveries(_ count: Int, of entryIDs: [[UInt8]]) {
        for start in stride(from: 0, to: entryIDs.count, by: TakenEntries.batchSize) {
            let batch = Array(entryIDs[start..<min(start + TakenEntries.batchSize, entryIDs.count)])
            takeover.touch(batch, deliveries: count) { _ in }
        }
    }

    /// Leaves all entries to whoever looks next.
    package func giveBack(_ done: @escaping () -> Void) { takeover.giveBack(done) }

    /// Redis knows that this entry is finished.
    package func release(_ entryID: [UInt8]) { takeover.release([entryID]) }

    // MARK: Acknowledging

    /// Every push of the entry has an outcome: it leaves the stream.
    ///
    /// Sent at the end of the loop's turn. For entries of which Redis keeps nothing else.
    package func acknowledge(_ entryID: [UInt8]) {
        if acknowledgements.add(entryID) {
            loop.atEndOfTurn { [self] in sendAcknowledgements() }
        }
    }

    private func sendAcknowledgements() {
        guard commands.isReady, let batch = acknowledgements.takeBatch() else { return }
        send(batch) { [self] refusal in
            switch refusal {
            case nil:
                acknowledgements.confirmed(batch)
                takeover.release(batch)
                recent.note { [self] in send(batch) { _ in } }
            case .server(_, let text): acknowledgementsRefused(batch, text)
            default: break  // The connection was lost: they are sent again when it is ready.
            }
        }
    }

    private func send(_ batch: [[UInt8]], _ done: @escaping (_ refusal: RedisError?) -> Void) {
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
        commands.send(acknowledge) { result in
            if case .failure(let error) = result { refusal = refusal ?? error }
            done(refusal)
        }
    }

    /// Redis answers, but cannot do it now (a script runs, its disk is full): told again a little later.
    private func acknowledgementsRefused(_ batch: [[UInt8]], _ text: String) {
        acknowledgements.refused(batch)
        guard acknowledgementRetry == nil else { return }
        log.error("Redis does not let finished messages leave the queue", ["error": text])
        acknowledgementRetry = loop.schedule(after: Self.refusalPause) { [self] in
            acknowledgementRetry = nil
            sendAcknowledgements()
        }
    }
}
