import Redis
package import Transport

/// Takes messages and parts of messages from the queue, plans them, and starts each of their targets.
///
/// Confined to the worker's loop. Holds the number of messages, and of their bytes, that it is busy with.
package final class Dispatcher {
    /// Messages without an outcome that one worker holds at most.
    package static let maximumMessages = 4096
    /// Pushes without an outcome above which it takes no more messages.
    package static let maximumPushes = 50_000
    /// Pushes without an outcome above which it takes no more parts.
    package static let maximumPartPushes = 40_000
    /// Bytes of messages' texts that it holds at most.
    package static let maximumMessageBytes = 32 << 20
    private let queue: MessageQueue
    private let fanOut: FanOut
    private let routes: Routes
    private let traces: TracePublisher
    private let planSettings: PlanSettings
    private let counters: Counters
    private let loop: EventLoop
    private let log: Log
    /// Redis' time in unix milliseconds.
    private let now: () -> Int64
    private var messageBytes = 0
    private var messagesTaken = 0
    private var recent = RecentContexts()
    private var fetching: [[UInt8]: [(MessageContext?) -> Void]] = [:]
    /// Entries that are being looked up, by the stream.
    private var lookedUp: [EntryStream.Kind: Set<[UInt8]>] = [.messages: [], .batches: []]

    package init(
        queue: MessageQueue,
        fanOut: FanOut,
        routes: Routes,
        traces: TracePublisher,
        planSettings: PlanSettings,
        counters: Counters,
        now: @escaping () -> Int64,
        loop: EventLoop,
        log: Log
    ) {
        self.queue = queue
        self.fanOut = fanOut
        self.routes = routes
        self.traces = traces
        self.planSettings = planSettings
        self.counters = counters
        self.now = now
        self.loop = loop
        self.log = log
        connect()
    }

    private func connect() {
        queue.messages.room = { [unowned self] in messageRoom }
        queue.batches.room = { [unowned self] in partRoom }
        queue.messages.whenTaken = { [unowned self] entry in takeMessage(entry) }
        queue.batches.whenTaken = { [unowned self] entry in takePart(entry) }
        for ledger in [queue.messageRuns, queue.partRuns] {
            ledger.whenEnded = { [unowned self] run, isMessageFinished in ended(run, isMessageFinished) }
            ledger.whenDropped = { [unowned self] run in
                forget(run)
                readMore()
            }
        }
        queue.messages.whenLost = { [unowned self] entryID in lost(entryID, .messages) }
        queue.batches.whenLost = { [unowned self] entryID in lost(entryID, .batches) }
        for stream in [queue.messages, queue.batches] {
            stream.whenUnreadable = { [unowned self] in
                counters.malformedEntries += 1
                log.warning("Redis gave a queue entry that is none")
            }
        }
    }

    /// Entries without an end.
    package var unfinished: Int { queue.messageRuns.count + queue.partRuns.count + preparing }

    /// Entries that are being looked up.
    package var preparing: Int { lookedUp.values.reduce(0) { $0 + $1.count } }

    private var messageRoom: Int {
        guard messageBytes < Self.maximumMessageBytes, pushes < Self.maximumPushes else { return 0 }
        return max(0, Self.maximumMessages - messagesTaken - lookedUp[.messages, default: []].count)
    }

    private var partRoom: Int {
        let waiting = lookedUp[.batches, default: []].count
        return max(0, (Self.maximumPartPushes - pushes) / FanOut.pageSize - waiting)
    }

    /// Pushes that this worker holds.
    private var pushes: Int { routes.unfinished + queue.delayed.count }

    /// Something has left: there may be room for more.
    private func readMore() {
        queue.messages.read()
        queue.batches.read()
    }

    private func ended(_ run: MessageRun, _ isMessageFinished: Bool) {
        if isMessageFinished { counters.completed += 1 }
        forget(run)
        readMore()
    }

    private func forget(_ run: MessageRun) {
        guard run.kind == .messages else { return }
        messagesTaken -= 1
        messageBytes -= run.message.message.count
    }

    private func lost(_ entryID: [UInt8], _ kind: EntryStream.Kind) -> Bool {
        let wasLookedUp = lookedUp[kind]?.remove(entryID) != nil
        let wasServed = queue.runs(kind).lost(entryID)
        readMore()
        return wasLookedUp || wasServed
    }

    /// Drops an entry that is none of ours.
    private func drop(_ entryID: [UInt8], of kind: EntryStream.Kind, because reason: String) {
        noteDropped(entryID, of: kind, because: reason)
        queue.stream(kind).acknowledge(entryID)
        readMore()
    }

    /// Drops a part that cannot be served; what of its devices can be counted, is.
    private func drop(_ batch: QueuedBatch, because reason: String, of context: MessageContext? = nil) {
        noteDropped(batch.entryID, of: .batches, because: reason)
        let devices = batch.part.tokens.devices?.count ?? 0
        let share = TargetShare(
            number: batch.part.target,
            tally: Tally(errored: devices),
            retriedDevices: batch.part.tokens.isRetry ? devices : 0
        )
        queue.partRuns.dismiss(batch.entryID, messageID: batch.messageID, share: share, context: context)
        readMore()
    }

    private func noteDropped(_ entryID: [UInt8], of kind: EntryStream.Kind, because reason: String) {
        counters.malformedEntries += 1
        log.warning(
            "a queue entry cannot be served and was dropped",
            ["stream": kind.rawValue, "entry": String(decoding: entryID, as: UTF8.self), "reason": reason]
        )
    }
}

// MARK: Messages

extension Dispatcher {
    private func takeMessage(_ entry: TakenEntry) {
        switch QueueEntry(entry.value) {
        case .malformed(_, let reason): drop(entry.entryID, of: .messages, because: reason)
        case nil: drop(entry.entryID, of: .messages, because: "it has no fields")
        case .message(let message):
            guard message.message.count <= Ingest.maximumMessageBytes else {
                counters.oversized += 1
                return drop(entry.entryID, of: .messages, because: "it is over 1 MiB")
            }
            if entry.earlierDeliveries >= Takeover.maximumDeliveries { return bury(entry, message) }
            guard entry.isTakenOver else { return start(message) }
            queue.messageRuns.count(entry)
            load(entry, messageID: entry.entryID, of: .messages) { [self] stored, state in
                start(message, deliveriesBefore: entry.earlierDeliveries, stored: stored, state: state)
            }
        }
    }

    private func bury(_ entry: TakenEntry, _ message: QueuedMessage) {
        let letter = BuriedEntry(
            kind: .messages,
            entryID: entry.entryID,
            messageID: entry.entryID,
            deliveries: entry.earlierDeliveries,
            time: now(),
            message: message,
            part: nil
        )
        counters.deadLetters += 1
        queue.messageRuns.bury(letter, share: nil, context: nil)
    }

    /// Starts a message: `stored` and `state` are what another worker left of it.
    private func start(
        _ message: QueuedMessage,
        deliveriesBefore: Int? = nil,
        stored: StoredOutcomes? = nil,
        state: RunState = RunState()
    ) {
        let context = context(of: message)
        if stored == nil, message.part == nil { traceBeginning(context) }
        // Its parts share what this worker may trace of it.
        if context.trace != nil { recent.insert(context) }
        messagesTaken += 1
        messageBytes += message.message.count
        let all = context.plan.targets.indices
        let numbers = message.part.map { all.contains($0.target) ? [$0.target] : [] }
        let targets = numbers ?? Array(all)
        let run = MessageRun(
            context,
            kind: .messages,
            entryID: message.entryID,
            deliveriesBefore: deliveriesBefore,
            stored: stored ?? StoredOutcomes(),
            targetCount: targets.count,
            owner: queue.messageRuns
        )
        if !state.targets.isEmpty { run.wasStored() }
        guard !targets.isEmpty else { return queue.messageRuns.finished(run) }
        queue.messageRuns.add(run)
        for number in targets { start(number, of: run, state.targets[number]) }
    }

    private func traceBeginning(_ context: MessageContext) {
        guard let trace = context.trace else { return }
        trace.received(bytes: context.message.message.count, gateways: context.plan.gateways)
        for notice in context.plan.notices { trace.notice(key: notice.key, text: notice.text) }
        for failure in context.plan.failures { trace.error(failure) }
    }

    private func start(_ number: Int, of message: MessageRun, _ state: RunState.TargetState?) {
        let target = message.context.plan.targets[number]
        let (route, ending) = way(of: target, on: message.context.message.channel)
        if let ending, state == nil, message.trace == nil {
            log.debug(
                "a target was not sent",
                ["id": message.message.id, "target": target.label, "reason": ending.word]
            )
        }
        if let part = message.message.part {
            return startPart(part, of: message, target, route, ending, isCounted: state != nil)
        }
        let run = TargetRun(message: message, number: number, target: target, ending: ending, hasParts: state != nil)
        if let state, state.walk != .none {
            recent.insert(message.context)
            if state.walk == .done { return run.resumeAfterWalk(state.tally) }
            return fanOut.resume(run, through: route)
        }
        fanOut.start(run, through: route)
    }

    /// How the pushes of a target of a message on a channel go out, or why none does.
    private func way(of target: Target, on channel: [UInt8]) -> (Route?, TargetEnding?) {
        if let failure = target.failure { return (nil, .failed(reason: failure.reason, text: failure.text)) }
        if now() >= target.deadline { return (nil, .expired) }
        switch routes.choose(for: target, channel: channel) {
        case .route(let route): return (route, nil)
        case .none(let failure): return (nil, failure)
        }
    }
}

// MARK: Parts

extension Dispatcher {
    private func takePart(_ entry: TakenEntry) {
        guard let batch = QueuedBatch(entry.value) else {
            return drop(entry.entryID, of: .batches, because: "it is no part of a message")
        }
        guard let devices = batch.part.tokens.devices else { return drop(batch, because: "its devices are damaged") }
        lookedUp[.batches]?.insert(entry.entryID)
        if entry.isTakenOver, entry.earlierDeliveries < Takeover.maximumDeliveries { queue.partRuns.count(entry) }
        withContext(of: batch.messageID) { [self] context in
            guard lookedUp[.batches]?.remove(entry.entryID) != nil else { return }
            guard let context, context.plan.targets.indices.contains(batch.part.target) else {
                let reason =
                    context == nil ? "its message is not in the queue any more" : "its message has no such target"
                return drop(batch, because: reason, of: context)
            }
            if !entry.isTakenOver { return start(batch, of: context, stored: StoredOutcomes()) }
            load(entry, messageID: batch.messageID, of: .batches) { [self] stored, _ in
                if entry.earlierDeliveries >= Takeover.maximumDeliveries {
                    return bury(entry, batch, devices, context, stored)
                }
                start(batch, of: context, deliveriesBefore: entry.earlierDeliveries, stored: stored)
            }
        }
    }

    private func start(
        _ batch: QueuedBatch,
        of context: MessageContext,
        deliveriesBefore: Int? = nil,
        stored: StoredOutcomes
    ) {
        let run = MessageRun(
            context,
            kind: .batches,
            entryID: batch.entryID,
            deliveriesBefore: deliveriesBefore,
            stored: stored,
            targetCount: 1,
            owner: queue.partRuns
        )
        queue.partRuns.add(run)
        let target = context.plan.targets[batch.part.target]
        let (route, ending) = way(of: target, on: context.message.channel)
        startPart(batch.part, of: run, target, route, ending, isCounted: true)
    }

    /// Starts some devices of a target; `isCounted`: outcomes are counted in Redis, with those of its other parts.
    private func startPart(
        _ part: MessagePart,
        of message: MessageRun,
        _ target: Target,
        _ route: Route?,
        _ ending: TargetEnding?,
        isCounted: Bool
    ) {
        let run = TargetRun(
            message: message,
            number: part.target,
            target: target,
            ending: ending,
            hasParts: isCounted,
            part: part.tokens
        )
        let pushes = run.take(part: part.tokens)
        guard !pushes.isEmpty else { return }
        route?.enqueue(pushes, isBulk: !run.tracesEachDevice)
    }

    /// The message of a part: planned already, or fetched from the inbox; nil when it is not there.
    private func withContext(of messageID: [UInt8], _ done: @escaping (MessageContext?) -> Void) {
        if let context = recent[messageID] { return done(context) }
        guard fetching[messageID] == nil else {
            fetching[messageID]?.append(done)
            return
        }
        fetching[messageID] = [done]
        fetch(messageID)
    }

    private func fetch(_ messageID: [UInt8]) {
        queue.fetch(messageID) { [self] result in
            guard case .success(let message) = result else {
                loop.schedule(after: RunLedger.retryPause) { [self] in fetch(messageID) }
                return
            }
            let context = message.map(context)
            if let context { recent.insert(context) }
            for done in fetching.removeValue(forKey: messageID) ?? [] { done(context) }
        }
    }

    private func context(of message: QueuedMessage) -> MessageContext {
        let plan = Plan.make(message.message, received: message.received, settings: planSettings)
        let trace = traces.trace(id: message.id, channel: message.channel, isAsked: plan.isDebugAsked)
        return MessageContext(message, plan: plan, trace: trace)
    }

    private func bury(
        _ entry: TakenEntry,
        _ batch: QueuedBatch,
        _ devices: [BatchTokens.Device],
        _ context: MessageContext,
        _ stored: StoredOutcomes
    ) {
        let target = context.plan.targets[batch.part.target]
        var left = BatchTokens(tracesEachDevice: batch.part.tokens.tracesEachDevice)
        var tally = Tally()
        for device in devices {
            let token = target.registrationKind.tokenToSend(device.member)
            if let outcome = stored.outcome(token: token, target: batch.part.target) {
                if let outcome = outcome.outcome { tally.count(outcome) }
            } else {
                left.append(device)
                tally.count(.errored)
            }
        }
        let letter = BuriedEntry(
            kind: .batches,
            entryID: entry.entryID,
            messageID: batch.messageID,
            deliveries: entry.earlierDeliveries,
            time: now(),
            message: context.message,
            part: MessagePart(target: batch.part.target, tokens: left)
        )
        counters.deadLetters += 1
        context.trace?.error(target, reason: BuriedEntry.reason, text: "its workers died with a part of it: put aside")
        let share = TargetShare(
            number: batch.part.target,
            tally: tally,
            retriedDevices: batch.part.tokens.isRetry ? devices.count : 0
        )
        queue.partRuns.bury(letter, share: share, context: context)
    }

    /// Looks up what another worker left of an entry, unless it is lost meanwhile.
    private func load(
        _ entry: TakenEntry,
        messageID: [UInt8],
        of kind: EntryStream.Kind,
        _ done: @escaping (StoredOutcomes, RunState) -> Void
    ) {
        lookedUp[kind]?.insert(entry.entryID)
        queue.parts.load(entry.entryID, of: kind, messageID: messageID) { [self] result in
            switch result {
            case .success(let (stored, state)):
                guard lookedUp[kind]?.remove(entry.entryID) != nil else { return }
                done(stored, state)
            case .failure:
                loop.schedule(after: RunLedger.retryPause) { [self] in
                    guard lookedUp[kind]?.contains(entry.entryID) == true else { return }
                    load(entry, messageID: messageID, of: kind, done)
                }
            }
        }
    }
}
