import Redis
package import Transport

/// The entries of one stream that this worker serves, from the moment they are taken until Redis knows their end.
///
/// Stores the outcomes of unfinished ones often enough that a successor repeats only what was in flight; ends finished
/// ones; drops those that belong to another worker now; gives back what is left at the end. Confined to the worker's
/// loop.
package final class RunLedger {
    /// Outcomes wait no longer than this before Redis is told (the worker promises 100 ms).
    static let storeInterval: Duration = .milliseconds(75)
    /// How long to wait before something is asked again that Redis could not do.
    static let retryPause: Duration = .milliseconds(500)

    private let stream: EntryStream
    private let parts: MessageParts
    private let ownership: Ownership
    private let loop: EventLoop
    private let log: Log
    private var runs: [[UInt8]: MessageRun] = [:]
    private var withOutcomes: [MessageRun] = []
    private var storeTimer: LoopTimer?
    private var ending: [[UInt8]: MessageRun] = [:]
    /// Entries that leave the queue without having been served.
    private var leaving: Set<[UInt8]> = []
    private let blame: Blame

    /// An entry has its end here; whether its whole message has.
    package var whenEnded: (_ run: MessageRun, _ isMessageFinished: Bool) -> Void = { _, _ in }
    /// An entry of which nothing more is sent here.
    package var whenDropped: (MessageRun) -> Void = { _ in }

    package init(stream: EntryStream, parts: MessageParts, ownership: Ownership, loop: EventLoop, log: Log) {
        self.stream = stream
        self.parts = parts
        self.ownership = ownership
        self.loop = loop
        self.log = log
        blame = Blame(stream: stream, loop: loop)
        stream.whenRefreshed = { [unowned self] in forgiveWaiting() }
    }

    /// Entries without an end.
    package var count: Int { runs.count + ending.count }

    /// Whether Redis knows of every entry that has its end here.
    package var isSettled: Bool { ending.isEmpty && leaving.isEmpty }

    /// Notes a run, before any of its pushes can have an outcome.
    package func add(_ run: MessageRun) {
        runs[run.entryID] = run
        if run.isTakenOver { blame.watch(run) }
    }

    /// Entries that waited a second ago, and still wait, are not counted as given to this worker.
    private func forgiveWaiting() {
        let waiting = runs.values.filter { !$0.hasBegun }
        blame.forgive(waiting.filter(\.hasWaited))
        for run in waiting { run.hasWaited = true }
    }

    /// An entry that another worker left is going to be looked at.
    package func count(_ entry: TakenEntry) { blame.count(entry) }

    /// The entry belongs to another worker now; answers whether it was served here.
    @discardableResult
    package func lost(_ entryID: [UInt8]) -> Bool {
        leaving.remove(entryID)
        if let run = ending.removeValue(forKey: entryID) {
            whenEnded(run, false)
            return false
        }
        guard let run = runs.removeValue(forKey: entryID) else { return false }
        run.abandon()
        blame.acquit(entryID)
        whenDropped(run)
        return true
    }

    /// Stores what is known, and leaves all entries to other workers.
    package func giveBack(_ done: @escaping () -> Void) {
        let given = Array(runs.values)
        store(given)
        runs = [:]
        for run in given {
            run.abandon()
            whenDropped(run)
        }
        stream.giveBack(done)
    }

    // MARK: Outcomes

    private func storeWhatIsDue() {
        storeTimer = nil
        let runs = withOutcomes
        withOutcomes = []
        store(runs)
    }

    private func store(_ runs: [MessageRun]) {
        for run in runs {
            guard let records = run.takeFresh() else { continue }
            store(records, of: run)
        }
    }

    private func store(_ records: [UInt8], of run: MessageRun) {
        parts.store(records, of: run.entryID, in: run.kind) { [self] answer in
            switch answer {
            case .done, .moved: break
            case .lost: lost(run.entryID)
            case .unknown:
                // Twice the same record does no harm; but none is left behind by an entry that has ended.
                loop.schedule(after: Self.retryPause) { [self] in
                    if runs[run.entryID] === run { store(records, of: run) }
                }
            }
        }
    }

    // MARK: The end

    private func end(_ run: MessageRun) {
        ending[run.entryID] = run
        parts.finish(run.entryID, in: run.kind, messageID: run.message.entryID, shares: run.shares) { [self] answer in
            guard ending[run.entryID] === run else { return }
            switch answer {
            case .done(let end):
                for target in end.ended { traceEnd(target, of: run.context) }
                ended(run, isMessageFinished: end.isMessageFinished)
            // It was finished before: by this worker, whose answer was lost, or by another.
            case .lost: ended(run, isMessageFinished: false)
            case .moved: leaveToOthers(run)
            case .unknown:
                loop.schedule(after: Self.retryPause) { [self] in if ending[run.entryID] === run { end(run) } }
            }
        }
    }

    /// Redis has lost a part of what was done: whoever takes the entry over goes on from what Redis knows.
    private func leaveToOthers(_ run: MessageRun) {
        log.warning(
            "Redis has lost parts of a message, which are made again",
            ["entry": String(decoding: run.entryID, as: UTF8.self)]
        )
        ended(run, isMessageFinished: false)
    }

    private func ended(_ run: MessageRun, isMessageFinished: Bool) {
        ending[run.entryID] = nil
        stream.release(run.entryID)
        whenEnded(run, isMessageFinished)
    }

    private func traceEnd(_ end: EndedTarget, of context: MessageContext) {
        guard let trace = context.trace, context.plan.targets.indices.contains(end.number) else { return }
        trace.completed(context.plan.targets[end.number], end.tally)
    }

    // MARK: Entries that are not served

    /// Puts an entry aside that several workers died with; `share` is, for a part, what it adds to its target.
    package func bury(_ letter: BuriedEntry, share: TargetShare?, context: MessageContext?) {
        log.error(
            "an entry was put aside: its workers died with it",
            ["entry": String(decoding: letter.entryID, as: UTF8.self), "deliveries": letter.deliveries]
        )
        leave(letter.entryID, messageID: letter.messageID, share: share, letter: letter, context: context)
    }

    /// Takes a part out of the queue that cannot be served, and so its message when it was the last.
    package func dismiss(_ entryID: [UInt8], messageID: [UInt8], share: TargetShare?, context: MessageContext?) {
        leave(entryID, messageID: messageID, share: share, letter: nil, context: context)
    }

    private func leave(
        _ entryID: [UInt8],
        messageID: [UInt8],
        share: TargetShare?,
        letter: BuriedEntry?,
        context: MessageContext?
    ) {
        leaving.insert(entryID)
        parts.finish(
            entryID,
            in: stream.kind,
            messageID: messageID,
            shares: share.map { [$0] } ?? [],
            letter: letter?.fields ?? []
        ) { [self] answer in
            switch answer {
            case .done(let end):
                if let context { for target in end.ended { traceEnd(target, of: context) } }
                left(entryID)
            case .lost, .moved: left(entryID)
            case .unknown:
                loop.schedule(after: Self.retryPause) { [self] in
                    guard leaving.contains(entryID) else { return }
                    leave(entryID, messageID: messageID, share: share, letter: letter, context: context)
                }
            }
        }
    }

    private func left(_ entryID: [UInt8]) {
        leaving.remove(entryID)
        stream.release(entryID)
    }
}

extension RunLedger: MessageRunOwner {
    package func hasBegun(_ run: MessageRun) { blame.begin(run) }

    package func finished(_ run: MessageRun) {
        runs[run.entryID] = nil
        blame.acquit(run.entryID)
        // Without a sign of life another worker may have begun with it, and have parts of it.
        let isKnownToRedis = !run.shares.isEmpty || run.hasStored || !ownership.maySend(now: loop.now)
        if run.kind == .messages, !isKnownToRedis {
            stream.acknowledge(run.entryID)
            whenEnded(run, true)
        } else {
            end(run)
        }
    }

    package func hasOutcomes(_ run: MessageRun) {
        withOutcomes.append(run)
        blame.acquit(run.entryID)
        guard storeTimer == nil else { return }
        storeTimer = loop.schedule(after: Self.storeInterval) { [self] in storeWhatIsDue() }
    }
}
