import Redis
import Transport

/// Shows other workers that this worker's entries of a stream are being served, and takes over those of workers that
/// died.
///
/// Every worker touches its own entries each second; what nobody has touched for ``TakeoverPace/idleLimit`` is claimed
/// by the first that looks. This also brings back entries that Redis gave on a connection that was lost. What a worker
/// finds not to be its own any more it serves no longer. Confined to the worker's loop.
final class Takeover {
    /// Entries asked for at one time.
    static let maximumPerClaim = 100
    /// An entry that was given so often, with nothing to show for it, has killed its workers.
    static let maximumDeliveries = 3
    /// One that was given so often, likewise, may have killed them.
    static let suspiciousDeliveries = 2

    private let loop: EventLoop
    private let redis: RedisConnection
    private let kind: EntryStream.Kind
    private let key: [UInt8]
    private let consumer: String
    private let ownership: Ownership
    private let log: Log
    private var entries = TakenEntries()
    private var pace = TakeoverPace()
    private var isAsking = false
    private var isStopped = false
    private var isStarted = false
    private var loggedError: String?
    private var refreshTimer: LoopTimer?

    /// How many more entries may be taken, and how many of those that were given several times.
    var room: () -> (entries: Int, suspects: Int) = { (0, 0) }
    /// An entry of a dead worker, and how often it had been given before.
    var whenClaimed: (_ entry: RESPValue, _ deliveries: Int, _ askedAt: LoopInstant) -> Void = { _, _, _ in }
    /// These entries belong to another worker now.
    var whenLost: ([[UInt8]]) -> Void = { _ in }
    /// Another second has passed.
    var whenRefreshed: () -> Void = {}

    init(
        kind: EntryStream.Kind,
        key: [UInt8],
        consumer: String,
        redis: RedisConnection,
        ownership: Ownership,
        loop: EventLoop,
        log: Log
    ) {
        self.kind = kind
        self.key = key
        self.consumer = consumer
        self.redis = redis
        self.ownership = ownership
        self.loop = loop
        self.log = log
        ownership.whenStoodStill.append { [unowned self] in refresh(all: true) }
    }

    // MARK: Own entries

    /// Notes an entry that Redis has given to this worker, which had asked at that moment; false when it is being
    /// served already.
    func take(_ entryID: [UInt8], askedAt: LoopInstant) -> Bool { entries.take(entryID, now: askedAt) }

    /// Redis knows that these entries are finished.
    func release(_ entryIDs: [[UInt8]]) { entries.release(entryIDs) }

    /// The connection is ready, for the first time or again.
    func redisReady() {
        pace.connected(now: loop.now)
        refresh(all: true)
        guard !isStarted else { return }
        isStarted = true
        repeatRefresh()
        repeatLook()
    }

    /// Redis was started, stood still or was away a short time ago: nobody's entries are taken over for a while.
    func redisWasAway() { pace.redisWasAway(now: loop.now) }

    private func repeatRefresh() {
        refreshTimer = loop.schedule(after: TakenEntries.refreshInterval) { [self] in
            refresh(all: false)
            whenRefreshed()
            repeatRefresh()
        }
    }

    private func refresh(all: Bool) {
        guard redis.isReady else { return }
        let sentAt = loop.now
        let batches = all ? entries.all(now: sentAt) : entries.due(now: sentAt)
        guard !batches.isEmpty else { return ownership.confirm(kind, sentAt: sentAt) }
        var missing = batches.count
        for batch in batches {
            touch(batch) { [self] lost in
                missing -= lost == nil ? 0 : 1
                if let lost, !lost.isEmpty { drop(lost) }
                if missing == 0 { ownership.confirm(kind, sentAt: sentAt) }
            }
        }
    }

    private func drop(_ lost: [[UInt8]]) {
        entries.release(lost)
        whenLost(lost)
    }

    /// Asks which of these entries are still this worker's; nil: Redis did not say.
    func touch(
        _ entryIDs: [[UInt8]],
        idle: Duration = .zero,
        deliveries: Int? = nil,
        _ done: @escaping (_ lost: [[UInt8]]?) -> Void
    ) {
        let words = [
            EntryStream.group, consumer, "\(idle.wholeMilliseconds)", deliveries.map { "\($0)" } ?? "",
        ]
        let arguments = words.map { Array($0.utf8) } + entryIDs
        let askedAt = loop.now
        redis.evaluate(TakeoverScripts.touch, keys: [key], arguments: arguments) { [self] result in
            note(result)
            if loop.now - askedAt > TakeoverPace.promptAnswer { redisWasAway() }
            guard case .success(let value) = result else { return done(nil) }
            done((value.elements ?? []).compactMap(\.bytes))
        }
    }

    /// Gives back those of some items whose entries are still this worker's.
    ///
    /// For what was on its way while this process or the network stood still. None if Redis does not say: they are
    /// taken over later, by this worker or another. `askedAt` is when it was asked.
    func verify(
        _ items: [RESPValue],
        entryID: @escaping (RESPValue) -> [UInt8]?,
        _ done: @escaping (_ owned: [RESPValue], _ askedAt: LoopInstant) -> Void
    ) {
        let askedAt = loop.now
        touch(items.compactMap(entryID)) { lost in
            guard let lost else { return }
            let gone = Set(lost)
            done(items.filter { item in entryID(item).map { !gone.contains($0) } ?? true }, askedAt)
        }
    }

    /// Leaves all entries to whoever looks next.
    func giveBack(_ done: @escaping () -> Void) {
        let batches = entries.all(now: loop.now)
        guard !batches.isEmpty else { return done() }
        entries = TakenEntries()
        var missing = batches.count
        for batch in batches {
            // As if nobody had touched them for a day, and never been given: nothing went wrong with them.
            touch(batch, idle: .seconds(86_400), deliveries: 0) { _ in
                missing -= 1
                if missing == 0 { done() }
            }
        }
    }

    // MARK: Entries of others

    /// Takes no more entries over; own ones are kept alive until ``close()``.
    func stop() { isStopped = true }

    func close() {
        isStopped = true
        refreshTimer?.cancel()
    }

    private func repeatLook() {
        loop.schedule(after: TakeoverPace.interval) { [self] in
            guard !isStopped else { return }
            look()
            repeatLook()
        }
    }

    /// Looks for entries that nobody serves.
    func look() {
        guard redis.isReady, !isStopped, !isAsking, pace.mayAsk(now: loop.now) else { return }
        isAsking = true
        let asked = loop.now
        let arguments = [EntryStream.group, consumer, "\(TakeoverPace.consumerLifetime.wholeMilliseconds)"]
        redis.evaluate(TakeoverScripts.forgetConsumers, keys: [key], arguments: arguments.map { Array($0.utf8) }) {
            [self] result in
            note(result)
            // It writes, so it stands still when writes do: its prompt answer means that signs of life get through.
            guard case .success = result, pace.answered(asked: asked, now: loop.now) else { return isAsking = false }
            claim()
        }
    }

    private func claim() {
        let room = room()
        let count = min(room.entries, Self.maximumPerClaim)
        guard !isStopped, count > 0, ownership.maySend(now: loop.now) else { return isAsking = false }
        let askedAt = loop.now
        let arguments = [
            EntryStream.group, consumer, "\(TakeoverPace.idleLimit.wholeMilliseconds)", "\(count)", "\(room.suspects)",
        ]
        redis.evaluate(TakeoverScripts.claim, keys: [key], arguments: arguments.map { Array($0.utf8) }) {
            [self] result in
            note(result)
            isAsking = false
            guard case .success(let value) = result, let items = value.elements, !items.isEmpty else { return }
            guard ownership.isDoubtful(askedAt: askedAt, patience: TakeoverPace.promptAnswer) else {
                return claimed(items, askedAt: askedAt, isAll: items.count < count)
            }
            verify(items) {
                $0[0]?[0]?.bytes
            } _: { [self] owned, askedAt in
                claimed(owned, askedAt: askedAt, isAll: true)
            }
        }
    }

    private func claimed(_ items: [RESPValue], askedAt: LoopInstant, isAll: Bool) {
        log.info("took over entries that nobody was serving", ["stream": kind.rawValue, "entries": items.count])
        for item in items {
            guard let entry = item[0], let deliveries = item[1]?.integer else { continue }
            whenClaimed(entry, Int(clamping: deliveries), askedAt)
        }
        if !isAll { look() }
    }

    /// Logs an error once, until something else happens.
    private func note(_ result: Result<RESPValue, RedisError>) {
        guard case .failure(.server(let code, let text)) = result, code != "NOGROUP" else {
            if case .success = result { loggedError = nil }
            return
        }
        guard loggedError != text else { return }
        loggedError = text
        log.warning("entries of dead workers cannot be looked for", ["stream": kind.rawValue, "error": text])
    }
}
