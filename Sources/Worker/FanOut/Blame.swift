import Transport

/// Sees to it that Redis counts an entry's deliveries only where it may have killed the worker that it was given to.
///
/// Redis counts each worker that reads an entry. One that merely waits in a worker that dies, for room on a connection
/// or for its turn, has not killed it: its count is taken back while it waits, and made again with its first push. An
/// entry that another worker left is counted before it is looked at, and one that is suspected is served beside no
/// other such entry. What has an outcome is above suspicion. Confined to the worker's loop; one for each stream.
final class Blame {
    /// An entry that was taken over, and has begun nothing in that time, waits.
    static let lookTime: Duration = .milliseconds(50)
    /// How long a suspect is served alone, if nothing becomes of it.
    static let trialTime: Duration = .seconds(2)

    private let stream: EntryStream
    private let loop: EventLoop
    private var watched: [MessageRun] = []
    private var begun: [MessageRun] = []
    private var trial: (entryID: [UInt8], timer: LoopTimer)?

    init(stream: EntryStream, loop: EventLoop) {
        self.stream = stream
        self.loop = loop
        stream.mayTakeSuspect = { [unowned self] in trial == nil }
    }

    /// An entry that another worker left is going to be looked at.
    func count(_ entry: TakenEntry) {
        stream.setDeliveries(entry.earlierDeliveries + 1, of: [entry.entryID])
        guard entry.earlierDeliveries >= Takeover.suspiciousDeliveries else { return }
        endTrial()
        trial = (entry.entryID, loop.schedule(after: Self.trialTime) { [self] in endTrial() })
    }

    /// It was planned, and its pushes wait for their turn.
    func watch(_ run: MessageRun) {
        watched.append(run)
        guard watched.count == 1 else { return }
        loop.schedule(after: Self.lookTime) { [self] in
            forgive(watched)
            watched = []
        }
    }

    /// Takes the count of those back that wait.
    func forgive(_ runs: some Sequence<MessageRun>) {
        let waiting = runs.filter { $0.isBlamed && !$0.hasBegun && $0.isServed }
        for run in waiting {
            run.isBlamed = false
            acquit(run.entryID)
        }
        for (deliveries, runs) in Dictionary(grouping: waiting, by: \.earlierDeliveries) {
            stream.setDeliveries(deliveries, of: runs.map(\.entryID))
        }
    }

    /// Its first push is sent.
    func begin(_ run: MessageRun) {
        guard !run.isBlamed else { return }
        run.isBlamed = true
        begun.append(run)
        guard begun.count == 1 else { return }
        loop.atEndOfTurn { [self] in
            let runs = begun.filter(\.isServed)
            begun = []
            for (deliveries, runs) in Dictionary(grouping: runs, by: \.earlierDeliveries) {
                stream.setDeliveries(deliveries + 1, of: runs.map(\.entryID))
            }
        }
    }

    /// It has an outcome, or is served here no more.
    func acquit(_ entryID: [UInt8]) {
        guard let trial, trial.entryID == entryID else { return }
        endTrial()
        stream.look()
    }

    private func endTrial() {
        trial?.timer.cancel()
        trial = nil
    }
}
