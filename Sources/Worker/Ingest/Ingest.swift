package import Redis
package import Transport

/// Hears every message on the subscribed channels and writes those with a push key to the queue.
///
/// Redis gives each message to each subscriber and keeps none, so what is heard is written at once, and kept in memory
/// until Redis has it. Confined to the worker's loop. A worker writes all that it hears: with several workers on one
/// Redis each of them writes, until they agree on who does.
package final class Ingest {
    /// The largest message that is looked at (1 MiB).
    package static let maximumMessageBytes = 1 << 20
    /// What may wait in memory for Redis; beyond it messages are dropped, counted and logged.
    package static let maximumUnwrittenBytes = 32 << 20

    /// How long messages wait that Redis has refused.
    static let refusalPause: Duration = .seconds(1)

    private let loop: EventLoop
    private let queue: MessageQueue
    private let filter: IngestFilter
    private let traces: TracePublisher
    private let counters: Counters
    private let log: Log
    private var retryTimer: LoopTimer?
    private var isSubscribed = false
    private var unwritten = UnwrittenMessages(maximumBytes: Ingest.maximumUnwrittenBytes)

    package init(
        loop: EventLoop,
        queue: MessageQueue,
        filter: IngestFilter,
        traces: TracePublisher,
        counters: Counters,
        log: Log
    ) {
        self.loop = loop
        self.queue = queue
        self.filter = filter
        self.traces = traces
        self.counters = counters
        self.log = log
    }

    /// The subscription is confirmed, for the first time or again.
    package var whenSubscribed: () -> Void = {}
    /// Redis does not let us subscribe: a sentence that says why.
    package var whenRefused: (String) -> Void = { _ in }

    /// Whether all that was heard is in the queue.
    package var isSettled: Bool { unwritten.isEmpty }
    /// Messages that were heard and that Redis is not known to have.
    package var unwrittenCount: Int { unwritten.count }

    /// The queue's connection is ready: what it could not take is written again.
    package func queueReady() {
        for number in unwritten.waiting() { write(number) }
    }

    private func heard(_ message: RawSpan, on channel: RawSpan) {
        guard !filter.isControl(channel) else { return }
        guard message.byteCount <= Self.maximumMessageBytes else {
            counters.oversized += 1
            log.warning(
                "a message over 1 MiB was dropped",
                ["channel": channel.copiedBytes, "bytes": message.byteCount]
            )
            return
        }
        switch PushKeyFilter.inspect(message) {
        case .none:
            counters.ignored += 1
        case .push:
            counters.accepted += 1
            keep(message.copiedBytes, channel: channel.copiedBytes)
        case .invalid(let debug):
            counters.invalid += 1
            let trace = traces.trace(id: "-", channel: channel.copiedBytes, isAsked: debug)
            trace?.invalidJSON()
        }
    }

    private func keep(_ message: [UInt8], channel: [UInt8]) {
        guard let number = unwritten.add(channel: channel, message: message) else {
            counters.dropped += 1
            log.error("a message was dropped: Redis takes none, and memory for them is full", ["channel": channel])
            return
        }
        write(number)
    }

    /// Redis answers, but takes no message now (out of memory, a replica): they are written again a little later.
    private func refused(_ text: String) {
        guard retryTimer == nil else { return }
        log.error("Redis does not take messages into the queue", ["error": text])
        retryTimer = loop.schedule(after: Self.refusalPause) { [weak self] in
            self?.retryTimer = nil
            self?.queueReady()
        }
    }

    private func write(_ number: Int) {
        guard let (channel, message) = unwritten.take(number) else { return }
        queue.add(channel: channel, message: message) { [self] result in
            switch result {
            case .success: unwritten.written(number)
            case .failure(let error):
                unwritten.failed(number)
                if case .server(_, let text) = error { refused(text) }
            }
        }
    }
}

extension Ingest: RedisSubscriptionHandler {
    package func subscriptionReady(_ subscription: RedisSubscription, joined: Result<RESPValue, RedisError>?) {
        isSubscribed = true
        whenSubscribed()
    }

    package func subscription(
        _ subscription: RedisSubscription,
        message payload: RawSpan,
        channel: RawSpan,
        pattern: RawSpan?
    ) {
        heard(payload, on: channel)
    }

    package func subscriptionLost(_ subscription: RedisSubscription, error: RedisError) {
        if error.isRefusal { return whenRefused("\(error)") }
        // Attempts that fail are logged with the connection for commands.
        guard isSubscribed else { return log.debug("could not subscribe; trying again", ["error": "\(error)"]) }
        isSubscribed = false
        log.warning("the subscription was lost; messages published meanwhile are not heard", ["error": "\(error)"])
    }
}
