package import Redis
package import Transport

/// Hears every message on the subscribed channels and sees to it that those with a push key get into the queue.
///
/// Redis gives each message to each replica and keeps none. Each remembers what it heard; one writes it at once, and
/// the others what is not there after a while, under names that all share: ``IngestState`` decides, this does the I/O.
/// Owns the subscription. Confined to the worker's loop.
package final class Ingest {
    /// The largest message that is looked at (1 MiB).
    package static let maximumMessageBytes = 1 << 20
    /// How often Redis is told that this replica lives.
    static let beatInterval: Duration = .seconds(1)
    /// How long the lease lasts without a beat.
    static let lease: Duration = .seconds(3)
    /// How long a probe may take.
    static let probePatience: Duration = .seconds(5)
    /// How often it is looked whether something is due.
    static let tick: Duration = .milliseconds(250)
    /// Without a mark for this long the subscription is not relied upon.
    static let markPatience: Duration = .seconds(2)

    let loop: EventLoop
    let redis: RedisConnection
    let keys: RedisKeys
    let name: String
    let group: IngestGroup
    private let debugChannel: DebugChannel
    private let traces: TracePublisher
    let counters: Counters
    let log: Log
    /// Redis' time in unix milliseconds.
    let now: () -> Int64
    let marks: [UInt8]

    var state = IngestState()
    var subscription: RedisSubscription?
    let redisSettings: RedisSettings
    /// The keys of the script `write`, made once.
    let writeKeys: [[UInt8]]
    var timer: LoopTimer?
    var probe: MarkProbe?
    var hasLeft = false
    private var wasSubscribed = false

    var isBeating = false
    var isBeatWanted = false
    var lastBeatAt: LoopInstant?
    /// Why Redis refuses what is to be written; nil while it does not.
    var refusal: String?
    var foreignPatterns: [String] = []
    var field: (stretch: StretchID, bytes: [UInt8])?

    /// `redis` is the connection for commands, `name` the replica's, `now` Redis' time in unix milliseconds.
    package init(
        settings: Settings,
        redis: RedisConnection,
        keys: RedisKeys,
        name: String,
        traces: TracePublisher,
        counters: Counters,
        now: @escaping () -> Int64,
        loop: EventLoop,
        log: Log
    ) {
        self.loop = loop
        self.redis = redis
        self.keys = keys
        self.name = name
        self.traces = traces
        self.counters = counters
        self.now = now
        self.log = log
        debugChannel = DebugChannel(settings.debugChannel)
        group = IngestGroup(patterns: settings.channels)
        marks = keys.marks
        redisSettings = settings.redis
        writeKeys = [keys.ingest, keys.messages]
        subscription = RedisSubscription(
            settings.redis,
            name: "\(name)-subscription",
            patterns: settings.channels.map { Array($0.utf8) },
            channels: [marks],
            join: { IngestScripts.join.command(keys: [keys.ingest], arguments: [Self.suffix(), keys.marks]) },
            on: loop,
            handler: self
        )
    }

    /// Messages are heard, and it is known who writes them: for the first time or again.
    package var whenListening: () -> Void = {}
    /// Redis does not let us subscribe: a sentence that says why.
    package var whenRefused: (String) -> Void = { _ in }

    package func start() {
        loop.preconditionOnLoop()
        subscription?.start()
        look()
    }

    /// Leaves: gives up the lease, hears on to the mark of that, and writes what is left; see ``isSettled``.
    package func stop() {
        loop.preconditionOnLoop()
        state.stop()
        isBeatWanted = true
        work()
    }

    /// Ends at once.
    package func close() {
        hasLeft = true
        timer?.cancel()
        endProbe()
        subscription?.close()
        subscription = nil
    }

    /// The command connection is new: what is written is learned from it before more is.
    package func commandsReady() {
        isBeating = false
        state.commandsReset()
        beat()
    }

    // MARK: What is known of it

    /// Whether it has left, and all that was heard is in the queue.
    package var isSettled: Bool { hasLeft && state.isSettled }
    /// Messages that were heard and that Redis is not known to have.
    package var unwrittenCount: Int { state.uncoveredCount }
    /// Whether messages are heard, and it is known who writes them.
    package var isListening: Bool { state.isSubscribed && state.lease != nil }
    /// Whether this replica is the one that writes at once.
    package var isHolder: Bool { state.isHolder }

    /// Why messages may not be heard or written at the moment; nil while a mark came back lately.
    package var problem: String? {
        guard state.isSubscribed else { return "the channels are not subscribed to" }
        guard let heardAt = state.heardMarkAt else { return "nothing came back yet over the subscription" }
        let silence = loop.now - heardAt
        if silence > Self.markPatience {
            return "the subscription is deaf: no mark came back for \(silence.wholeMilliseconds) ms"
        }
        if let refusal { return "Redis does not take messages: \(refusal)" }
        return state.isInStep ? nil : "Redis has not told yet which messages are written"
    }

    /// What those who run it should know, and which is no reason not to use it.
    package var notice: String? {
        guard !foreignPatterns.isEmpty else { return nil }
        let others = foreignPatterns.joined(separator: "; ")
        return "other workers listen to other patterns (\(others)): what both hear may be pushed twice"
    }
}

// MARK: - Hearing

extension Ingest: RedisSubscriptionHandler {
    package func subscription(
        _ subscription: RedisSubscription,
        message payload: RawSpan,
        channel: RawSpan,
        pattern: RawSpan?
    ) {
        // Only the control channel has a subscription of its own.
        if pattern == nil { return heardMark(payload) }
        state.heard()
        guard !debugChannel.includes(channel) else { return }
        guard payload.byteCount <= Self.maximumMessageBytes else { return oversized(payload, channel) }
        switch PushKeyFilter.inspect(payload) {
        case .none: counters.ignored += 1
        case .push: heardPush(payload.copiedBytes, on: channel.copiedBytes)
        case .invalid(let debug): heardInvalid(on: channel, isDebugAsked: debug)
        }
    }

    private func heardPush(_ message: [UInt8], on channel: [UInt8]) {
        counters.accepted += 1
        guard state.remember(channel: channel, message: message, now: loop.now) else {
            counters.dropped += 1
            return log.error(
                "a message was dropped: Redis takes none, and memory for them is full",
                ["channel": channel]
            )
        }
        if state.writesAtOnce { write() }
    }

    /// All replicas hear it, one says so.
    private func heardInvalid(on channel: RawSpan, isDebugAsked: Bool) {
        counters.invalid += 1
        guard isDebugAsked, state.isHolder else { return }
        traces.trace(id: "-", channel: channel.copiedBytes, isAsked: true)?.invalidJSON()
    }

    private func oversized(_ message: RawSpan, _ channel: RawSpan) {
        counters.oversized += 1
        log.warning("a message over 1 MiB was dropped", ["channel": channel.copiedBytes, "bytes": message.byteCount])
    }

    private func heardMark(_ payload: RawSpan) {
        guard payload.byteCount <= 64, let mark = Mark(payload.copiedBytes) else {
            return log.warning("something that is no mark was published on the control channel")
        }
        state.heardMark(mark.stretch, now: loop.now)
        if mark.isLeaseFree, !state.isHolder { isBeatWanted = true }
        if isBeatWanted || state.isStopping { work() }
    }

    package func subscriptionReady(_ subscription: RedisSubscription, joined: Result<RESPValue, RedisError>?) {
        var mark: StretchID?
        if case .success(let value) = joined { mark = value.text.flatMap { StretchID($0) } }
        if mark == nil {
            let reason: String =
                if case .failure(let error) = joined { "\(error)" } else { "its transaction was refused" }
            log.warning("subscribed without a mark; messages have no names up to the next one", ["reason": reason])
        }
        wasSubscribed = true
        state.joined(at: mark)
        isBeatWanted = true
        work()
    }

    package func subscriptionLost(_ subscription: RedisSubscription, error: RedisError) {
        state.subscriptionLost()
        if error.isRefusal { return whenRefused("\(error)") }
        isBeatWanted = true
        work()
        // Attempts that fail are logged with the connection for commands.
        guard wasSubscribed else { return log.debug("could not subscribe; trying again", ["error": "\(error)"]) }
        wasSubscribed = false
        log.warning("the subscription was lost; messages published meanwhile are not heard", ["error": "\(error)"])
    }
}
