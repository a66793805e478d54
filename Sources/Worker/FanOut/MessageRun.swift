/// Who is told how a run goes on; all calls on the loop.
package protocol MessageRunOwner: AnyObject {
    /// Its first push is sent; once.
    func hasBegun(_ run: MessageRun)
    /// Each of its targets has finished; once.
    func finished(_ run: MessageRun)
    /// It has outcomes that Redis does not know, and goes on.
    func hasOutcomes(_ run: MessageRun)
}

/// One queue entry on its way in this worker: a message, or a part of one.
///
/// It is finished when each of its targets is. Confined to the worker's loop. Held by its target runs, and so by the
/// pushes that have no outcome yet; holds none of them.
package final class MessageRun {
    private enum Phase {
        case serving
        case finished
        case abandoned
    }

    package let context: MessageContext
    /// The stream that the entry stands in, and its id there.
    package let kind: EntryStream.Kind
    package let entryID: [UInt8]
    /// What another worker did before it died: these pushes are not repeated.
    package let stored: StoredOutcomes
    /// What it adds to those of its targets that have parts elsewhere, as far as they have finished here.
    package private(set) var shares: [TargetShare] = []
    /// Whether Redis has outcomes of the entry.
    package private(set) var hasStored: Bool
    /// How often it was begun by workers that then died; nil for one that Redis has just given for the first time.
    private let deliveriesBefore: Int?
    /// Whether a push of it was sent.
    package private(set) var hasBegun = false
    /// Whether Redis counts this delivery.
    var isBlamed = true
    /// Whether it was found waiting for its first push.
    var hasWaited = false
    private var fresh: [UInt64] = []
    private var unfinishedTargets: Int
    private var phase = Phase.serving
    private let owner: any MessageRunOwner

    /// The owner is told once, when `targetCount` targets have finished.
    package init(
        _ context: MessageContext,
        kind: EntryStream.Kind,
        entryID: [UInt8],
        deliveriesBefore: Int? = nil,
        stored: StoredOutcomes = StoredOutcomes(),
        targetCount: Int,
        owner: any MessageRunOwner
    ) {
        self.deliveriesBefore = deliveriesBefore
        self.context = context
        self.kind = kind
        self.entryID = entryID
        self.stored = stored
        hasStored = !stored.isEmpty
        unfinishedTargets = targetCount
        self.owner = owner
    }

    package var message: QueuedMessage { context.message }
    package var trace: MessageTrace? { context.trace }

    /// Whether the entry is served by another worker now, or by nobody: nothing of it is sent any more.
    package var isAbandoned: Bool { phase == .abandoned }

    var isServed: Bool { phase == .serving }
    var isTakenOver: Bool { deliveriesBefore != nil }
    var earlierDeliveries: Int { deliveriesBefore ?? 0 }

    /// A push of it is sent.
    package func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        owner.hasBegun(self)
    }

    package func abandon() {
        phase = .abandoned
        fresh = []
    }

    /// One target has finished here.
    func targetFinished(_ target: TargetRun) {
        if target.hasParts { shares.append(target.share) }
        unfinishedTargets -= 1
        guard unfinishedTargets == 0, phase == .serving else { return }
        phase = .finished
        owner.finished(self)
    }

    /// Notes an outcome for whoever would have to take the entry over.
    func note(_ outcome: StoredOutcome, token: [UInt8], target: Int) {
        guard phase == .serving else { return }
        fresh.append(outcome.record(token: token, target: target))
        if fresh.count == 1 { owner.hasOutcomes(self) }
    }

    /// Gives out the outcomes that Redis does not know, as it keeps them; nil when there are none, or no need.
    package func takeFresh() -> [UInt8]? {
        guard phase == .serving, !fresh.isEmpty else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fresh.count * 8)
        for record in fresh { bytes.append(littleEndian: record) }
        fresh = []
        hasStored = true
        return bytes
    }

    /// Redis keeps records of the entry.
    func wasStored() { hasStored = true }
}
