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
    /// An entry that may have killed its workers is served beside no other such entry for so long.
    static let trialTime: Duration = .seconds(2)

    private let stream: EntryStream
    private let parts: MessageParts
    private let loop: EventLoop
    private let log: Log
    private var runs: [[UInt8]: MessageRun] = [:]
    private var withOutcomes: [MessageRun] = []
    private var storeTimer: LoopTimer?
    private var ending: [[UInt8]: MessageRun] = [:]
    private var trial: (entryID: [UInt8], timer: LoopTimer)?

    /// An entry has its end here; whether its whole message has.
    package var whenEnded: (_ run: MessageRun, _ isMessageFinished: Bool) -> Void = { _, _ in }
    /// An entry of which nothing more is sent here.
    package var whenDropped: (MessageRun) -> Void = { _ in }

    package init(stream: EntryStream, parts: MessageParts, loop: EventLoop, log: Log) {
        self.stream = stream
        self.parts = parts
        self.loop = loop
        self.log = log
        stream.mayTakeSuspect = { [unowned self] in trial == nil }
    }

    /// Entries without an end.
    package var count: Int { runs.count + ending.count }

    /// Notes a run, before any of its pushes can have an outcome.
    package func add(_ run: MessageRun) {
        runs[run.entryID] = run
    }

    /// An entry that several workers died with is served: no other such one is until it is known to do no harm.
    package func beginTrial(of entryID: [UInt8]) {
        endTrial()
        let timer = loop.schedule(after: Self.trialTime) { [self] in endTrial() }
        trial = (entryID, timer)
    }

    private func endTrial(of entryID: [UInt8]) {
        guard let trial, trial.entryID == entryID else { return }
        endTrial()
        stream.look()
    }

    private func endTrial() {
        trial?.timer.cancel()
        trial = nil
    }

    /// The entry belongs to another worker now.
    package func lost(_ entryID: [UInt8]) {
        if let run = ending.removeValue(forKey: entryID) { return whenEnded(run, false) }
        guard let run = runs.removeValue(forKey: entryID) else { return }
        run.abandon()
        log.info("an entry is served by another worker now", ["entry": String(decoding: entryID, as: UTF8.self)])
        endTrial(of: entryID)
        whenDropped(run)
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
            case .done: break
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
        let targets = run.targetsWithParts.map { (number: $0.number, tally: $0.tally) }
        parts.finish(run.entryID, in: run.kind, messageID: run.message.entryID, targets: targets) { [self] answer in
            guard ending[run.entryID] === run else { return }
            switch answer {
            case .done(let end):
                for target in end.ended { traceEnd(target, of: run.context) }
                ended(run, isMessageFinished: end.isMessageFinished)
            // It was finished before: by this worker, whose answer was lost, or by another.
            case .lost: ended(run, isMessageFinished: false)
            case .unknown:
                loop.schedule(after: Self.retryPause) { [self] in if ending[run.entryID] === run { end(run) } }
            }
        }
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

    /// Ends a part that cannot be served; what Redis knows of its message goes with the last one.
    package func drop(_ entryID: [UInt8], messageID: [UInt8]) {
        parts.finish(entryID, in: stream.kind, messageID: messageID, targets: []) { [self] answer in
            guard case .unknown = answer else { return stream.release(entryID) }
            loop.schedule(after: Self.retryPause) { [self] in drop(entryID, messageID: messageID) }
        }
    }

    // MARK: Dead letters

    /// Puts an entry aside that several workers died with.
    ///
    /// `unfinished` is, for a part, its target's number and how many of its pushes have no outcome.
    package func bury(_ letter: BuriedEntry, unfinished: (number: Int, tally: Tally)?, context: MessageContext?) {
        log.error(
            "an entry was put aside: its workers died with it",
            ["entry": String(decoding: letter.entryID, as: UTF8.self), "deliveries": letter.deliveries]
        )
        parts.finish(
            letter.entryID,
            in: letter.kind,
            messageID: letter.messageID,
            targets: unfinished.map { [$0] } ?? [],
            letter: letter.fields
        ) { [self] answer in
            switch answer {
            case .done(let end):
                if let context { for target in end.ended { traceEnd(target, of: context) } }
                stream.release(letter.entryID)
            case .lost: stream.release(letter.entryID)
            case .unknown:
                loop.schedule(after: Self.retryPause) { [self] in
                    bury(letter, unfinished: unfinished, context: context)
                }
            }
        }
    }
}

extension RunLedger: MessageRunOwner {
    package func finished(_ run: MessageRun) {
        runs[run.entryID] = nil
        endTrial(of: run.entryID)
        if run.kind == .messages, run.targetsWithParts.isEmpty, !run.hasStored {
            stream.acknowledge(run.entryID)
            whenEnded(run, true)
        } else {
            end(run)
        }
    }

    package func hasOutcomes(_ run: MessageRun) {
        withOutcomes.append(run)
        endTrial(of: run.entryID)
        guard storeTimer == nil else { return }
        storeTimer = loop.schedule(after: Self.storeInterval) { [self] in storeWhatIsDue() }
    }
}
