import Redis
import Transport

/// Shows other workers that this worker's entries are being served, and takes over those of workers that died.
///
/// The group's list of pending entries keeps, for each, its consumer and how long it was not touched (Redis: XPENDING).
/// Every worker touches its own each second; what nobody has touched for ``TakeoverPace/idleLimit`` is claimed by the
/// first that looks. This also brings back entries that Redis gave on a connection that was lost. Confined to the
/// worker's loop.
final class Takeover {
    /// Entries asked for at one time.
    static let maximumPerClaim = 100

    /// KEYS: the stream.
    ///
    /// ARGV: group, milliseconds, own name. Deletes consumers that have no pending entries and have asked for none in
    /// so long. In a script, since a consumer is deleted with its entries.
    static let forgetConsumers = RedisScript(
        """
        local forgotten = 0
        for _, fields in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
          local consumer = {}
          for i = 1, #fields, 2 do consumer[fields[i]] = fields[i + 1] end
          if consumer.pending == 0 and consumer.idle > tonumber(ARGV[2]) and consumer.name ~= ARGV[3] then
            redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
            forgotten = forgotten + 1
          end
        end
        return forgotten
        """
    )

    private let loop: EventLoop
    private let redis: RedisConnection
    private let key: [UInt8]
    private let consumer: String
    private let log: Log
    private var entries = TakenEntries()
    private var pace = TakeoverPace()
    private var isAsking = false
    private var isStopped = false
    private var isStarted = false
    private var loggedError: String?

    /// How many more messages may be taken.
    var room: () -> Int = { 0 }
    /// An entry of a dead worker: `[id, [field, value, …]]`.
    var whenClaimed: (RESPValue) -> Void = { _ in }

    init(loop: EventLoop, redis: RedisConnection, key: [UInt8], consumer: String, log: Log) {
        self.loop = loop
        self.redis = redis
        self.key = key
        self.consumer = consumer
        self.log = log
    }

    // MARK: Own entries

    /// Notes an entry that Redis has given to this worker; false when it is being served already.
    func take(_ entryID: [UInt8]) -> Bool { entries.take(entryID, now: loop.now) }

    /// Redis knows that these entries are finished.
    func release(_ entryIDs: [[UInt8]]) { entries.release(entryIDs) }

    /// The connection is ready, for the first time or again.
    func redisReady() {
        pace.connected(now: loop.now)
        refresh()
        guard !isStarted else { return }
        isStarted = true
        repeatRefresh()
        repeatLook()
    }

    private func repeatRefresh() {
        loop.schedule(after: TakenEntries.refreshInterval) { [weak self] in
            self?.refresh()
            self?.repeatRefresh()
        }
    }

    private func refresh() {
        guard redis.isReady else { return }
        for batch in entries.due(now: loop.now) {
            var claim = RedisCommand("XCLAIM", capacity: 128 + 32 * batch.count)
            for word in [key, Array(MessageQueue.group.utf8), Array(consumer.utf8)] { claim.append(word) }
            claim.append("0")
            for entryID in batch { claim.append(entryID) }
            claim.append("JUSTID")
            redis.send(claim) { [weak self] result in self?.note(result) }
        }
    }

    // MARK: Entries of others

    /// Takes no more entries over; own ones are kept alive until the connection ends.
    func stop() { isStopped = true }

    private func repeatLook() {
        loop.schedule(after: TakeoverPace.interval) { [weak self] in
            guard let self, !isStopped else { return }
            look()
            repeatLook()
        }
    }

    private func look() {
        guard redis.isReady, !isAsking, pace.mayAsk(now: loop.now) else { return }
        isAsking = true
        let asked = loop.now
        let arguments = [MessageQueue.group, "\(TakeoverPace.consumerLifetime.wholeMilliseconds)", consumer]
        redis.evaluate(Self.forgetConsumers, keys: [key], arguments: arguments.map { Array($0.utf8) }) {
            [weak self] result in
            guard let self else { return }
            note(result)
            // It writes, so it stands still when writes do: its prompt answer means that signs of life get through.
            guard case .success = result, pace.answered(asked: asked, now: loop.now) else { return isAsking = false }
            claim(from: "0-0")
        }
    }

    private func claim(from cursor: String) {
        let count = min(room(), Self.maximumPerClaim)
        guard !isStopped, count > 0 else { return isAsking = false }
        var command = RedisCommand("XAUTOCLAIM")
        command.append(key)
        command.append(MessageQueue.group)
        command.append(consumer)
        command.append(TakeoverPace.idleLimit.wholeMilliseconds)
        command.append(cursor)
        command.append("COUNT")
        command.append(count)
        redis.send(command) { [weak self] result in
            guard let self else { return }
            note(result)
            claimed(result)
        }
    }

    private func claimed(_ result: Result<RESPValue, RedisError>) {
        guard case .success(let value) = result, let next = value[0]?.text, let entries = value[1]?.elements else {
            return isAsking = false
        }
        if !entries.isEmpty { log.info("took over messages that nobody was serving", ["messages": entries.count]) }
        for entry in entries { whenClaimed(entry) }
        if next == "0-0" { isAsking = false } else { claim(from: next) }
    }

    /// Logs an error once, until something else happens.
    private func note(_ result: Result<RESPValue, RedisError>) {
        guard case .failure(.server(let code, let text)) = result, code != "NOGROUP" else {
            if case .success = result { loggedError = nil }
            return
        }
        guard loggedError != text else { return }
        loggedError = text
        log.warning("entries of dead workers cannot be looked for", ["error": text])
    }
}
