package import Redis
package import Transport

/// The durable queue: the inbox of messages, the parts that big ones are cut into, and retries that wait.
///
/// Each of the two streams is read as a consumer group, so that every entry is served by one worker; see
/// ``EntryStream``. The inbox's length is the number of unfinished messages. Confined to the worker's loop.
package final class MessageQueue {
    /// Entries asked for in one read.
    static let maximumMessagesPerRead = 100
    static let maximumPartsPerRead = 4

    package let messages: EntryStream
    package let batches: EntryStream
    package let messageRuns: RunLedger
    package let partRuns: RunLedger
    package let parts: MessageParts
    package let ownership: Ownership
    package let delayed: DelayedPushes
    private let recent: RecentWrites
    private let commands: RedisConnection
    private let keys: RedisKeys
    private var isStarted = false

    /// A stream can be read, for the first time or again.
    package var whenReading: () -> Void = {} {
        didSet {
            messages.whenReading = whenReading
            batches.whenReading = whenReading
        }
    }

    package init(
        redis: RedisConnections,
        keys: RedisKeys,
        consumer: String,
        loop: EventLoop,
        log: Log
    ) {
        commands = redis.commands
        self.keys = keys
        let ownership = Ownership(loop: loop, log: log)
        self.ownership = ownership
        let recent = RecentWrites(loop: loop)
        self.recent = recent
        parts = MessageParts(redis: redis.commands, keys: keys, consumer: consumer, recent: recent)
        messages = EntryStream(
            .messages,
            key: keys.messages,
            consumer: consumer,
            maximumPerRead: Self.maximumMessagesPerRead,
            commands: redis.commands,
            reader: redis.messageReader,
            ownership: ownership,
            recent: recent,
            loop: loop,
            log: log
        )
        batches = EntryStream(
            .batches,
            key: keys.batches,
            consumer: consumer,
            maximumPerRead: Self.maximumPartsPerRead,
            commands: redis.commands,
            reader: redis.batchReader,
            ownership: ownership,
            recent: recent,
            loop: loop,
            log: log
        )
        messageRuns = RunLedger(stream: messages, parts: parts, ownership: ownership, loop: loop, log: log)
        partRuns = RunLedger(stream: batches, parts: parts, ownership: ownership, loop: loop, log: log)
        delayed = DelayedPushes(parts: parts, now: { redis.unixMilliseconds }, loop: loop, log: log)
    }

    package func stream(_ kind: EntryStream.Kind) -> EntryStream { kind == .messages ? messages : batches }

    package func runs(_ kind: EntryStream.Kind) -> RunLedger { kind == .messages ? messageRuns : partRuns }

    /// Whether both streams are read.
    package var isReadable: Bool { messages.isReadable && batches.isReadable }

    /// Why the queue cannot be served; nil while it can.
    package var problem: String? { messages.problem ?? batches.problem }

    /// Whether every finished entry has left the queue, and none may be on its way.
    package var isSettled: Bool {
        messages.isSettled && batches.isSettled && delayed.isSettled && messageRuns.isSettled && partRuns.isSettled
    }

    /// The command connection is ready, for the first time or again.
    package func commandsReady() {
        if !isStarted {
            isStarted = true
            ownership.start()
            delayed.start()
        }
        messages.commandsReady()
        batches.commandsReady()
    }

    /// The command connection is lost.
    package func commandsLost() {
        ownership.lapse()
        recent.connectionLost()
    }

    /// The command connection leads to this server: told first, whenever it is ready.
    package func connected(to server: RedisServerIdentity) {
        if server.uptime < TakeoverPace.returnTime { for stream in [messages, batches] { stream.redisWasAway() } }
        recent.connected(to: server.runID)
    }

    /// Takes no more entries but those that Redis has given already.
    package func stop() {
        messages.stop()
        batches.stop()
        delayed.stop()
    }

    /// Ends everything that goes on by itself.
    package func close() {
        stop()
        messages.close()
        batches.close()
        ownership.close()
        recent.close()
    }

    /// Stores what is known of all entries, and leaves them to other workers.
    package func giveBack(_ done: @escaping () -> Void) {
        messageRuns.giveBack { [self] in partRuns.giveBack(done) }
    }

    /// A message of the inbox by its entry id; nil when it is not there any more.
    package func fetch(_ messageID: [UInt8], _ done: @escaping (Result<QueuedMessage?, RedisError>) -> Void) {
        commands.send(RedisCommand("XRANGE", [keys.messages, messageID, messageID])) { result in
            done(
                result.map { value in
                    guard let entry = value[0], case .message(let message) = QueueEntry(entry) else { return nil }
                    return message
                }
            )
        }
    }
}
