import Transport

/// Takes messages from the queue, plans them, and starts each of their targets.
///
/// Confined to the worker's loop. Holds the number of messages, and of their bytes, that it is busy with.
package final class Dispatcher {
    /// Messages without an outcome that one worker holds at most.
    package static let maximumMessages = 4096
    /// Pushes without an outcome above which it takes no more messages.
    package static let maximumPushes = 50_000
    /// Bytes of their texts that it holds at most.
    package static let maximumMessageBytes = 32 << 20

    private let queue: MessageQueue
    private let fanOut: FanOut
    private let routes: Routes
    private let traces: TracePublisher
    private let planSettings: PlanSettings
    private let counters: Counters
    private let log: Log
    /// Redis' time in unix milliseconds.
    private let now: () -> Int64
    private var messages = 0
    private var messageBytes = 0

    package init(
        queue: MessageQueue,
        fanOut: FanOut,
        routes: Routes,
        traces: TracePublisher,
        planSettings: PlanSettings,
        counters: Counters,
        now: @escaping () -> Int64,
        log: Log
    ) {
        self.queue = queue
        self.fanOut = fanOut
        self.routes = routes
        self.traces = traces
        self.planSettings = planSettings
        self.counters = counters
        self.now = now
        self.log = log
        queue.room = { [unowned self] in room }
        queue.whenTaken = { [unowned self] message in take(message) }
    }

    /// Messages without an outcome.
    package var unfinished: Int { messages }

    private var room: Int {
        guard messageBytes < Self.maximumMessageBytes, routes.unfinished < Self.maximumPushes else { return 0 }
        return Self.maximumMessages - messages
    }

    private func take(_ message: QueuedMessage) {
        messages += 1
        messageBytes += message.message.count
        guard message.message.count <= Ingest.maximumMessageBytes else {
            counters.oversized += 1
            log.warning("a queued message over 1 MiB was dropped", ["id": message.id, "bytes": message.message.count])
            return finished(message)
        }
        start(message, Plan.make(message.message, received: message.received, settings: planSettings))
    }

    private func start(_ message: QueuedMessage, _ plan: Plan) {
        let trace = traces.trace(id: message.id, channel: message.channel, isAsked: plan.isDebugAsked)
        trace?.received(bytes: message.message.count, gateways: plan.gateways)
        for notice in plan.notices { trace?.notice(key: notice.key, text: notice.text) }
        for failure in plan.failures {
            trace?.error(failure)
        }
        guard !plan.targets.isEmpty else { return finished(message) }
        let run = MessageRun(message, trace: trace, targetCount: plan.targets.count) { [self] in finished($0.message) }
        for target in plan.targets { start(target, of: run) }
    }

    private func start(_ target: Target, of message: MessageRun) {
        var route: Route?
        var ending = target.failure.map { TargetEnding.failed(reason: $0.reason, text: $0.text) }
        if ending == nil, now() >= target.deadline { ending = .expired }
        if ending == nil {
            switch routes.choose(for: target) {
            case .route(let chosen): route = chosen
            case .none(let failure): ending = failure
            }
        }
        let run = TargetRun(message: message, target: target, ending: ending)
        if let ending, message.trace == nil {
            log.debug(
                "a target was not sent",
                ["id": message.message.id, "target": target.label, "reason": ending.word]
            )
            return message.targetFinished()
        }
        fanOut.start(run, through: route)
    }

    private func finished(_ message: QueuedMessage) {
        messages -= 1
        messageBytes -= message.message.count
        counters.completed += 1
        queue.acknowledge(message.entryID)
        queue.read()
    }
}
