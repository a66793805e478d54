package import Transport

/// Whether this worker may send what it has taken: only while it knows that no other has taken it over.
///
/// A worker that has shown no sign of life for 5 s counts as dead, and others serve its entries. So it sends only for a
/// shorter time after its last sign of life that Redis has confirmed; and after its loop stood still (the process was
/// stopped, the machine slept), not before it has asked Redis again what it owns. Confined to the worker's loop.
package final class Ownership {
    /// A sign of life is good for so long: less than ``TakeoverPace/idleLimit``, by the time a push takes.
    package static let patience: Duration = .seconds(4)
    /// A loop that did not turn for so long has stood still.
    package static let standstill: Duration = .seconds(2)
    static let beat: Duration = .milliseconds(500)

    private let loop: EventLoop
    private let log: Log
    private var confirmedAt: [EntryStream.Kind: LoopInstant] = [:]
    private var validUntil: LoopInstant
    private var beatAt: LoopInstant
    private var isLapsed = true
    private var beatTimer: LoopTimer?
    /// When it was found last that the loop had stood still.
    private(set) var stoodStillAt: LoopInstant

    /// Everything that is owned must be shown to Redis now.
    var whenStoodStill: [() -> Void] = []
    /// Sending is allowed again.
    package var whenRegained: () -> Void = {}

    package init(loop: EventLoop, log: Log) {
        self.loop = loop
        self.log = log
        beatAt = loop.now
        validUntil = loop.now
        stoodStillAt = loop.now
    }

    /// Whether a push may be sent at this moment.
    package func maySend(now: LoopInstant) -> Bool { now < validUntil }

    /// Begins to watch the loop.
    func start() {
        beatAt = loop.now
        repeatBeat()
    }

    private func repeatBeat() {
        beatTimer = loop.schedule(after: Self.beat) { [self] in
            takeBeat()
            repeatBeat()
        }
    }

    func close() { beatTimer?.cancel() }

    private func takeBeat() {
        let gap = loop.now - beatAt
        beatAt = loop.now
        if gap >= Self.standstill {
            log.warning("the process stood still; what it owns is read again", ["milliseconds": gap.wholeMilliseconds])
            stoodStillAt = loop.now
            for action in whenStoodStill { action() }
        }
        update()
    }

    /// Redis has confirmed a sign of life, sent at that moment, for all entries that this worker owns in a stream.
    func confirm(_ kind: EntryStream.Kind, sentAt: LoopInstant) {
        confirmedAt[kind] = sentAt
        update()
    }

    private func update() {
        let isConfirmed = EntryStream.Kind.allCases.allSatisfy { kind in
            confirmedAt[kind].map { $0 >= stoodStillAt } ?? false
        }
        guard isConfirmed, let oldest = confirmedAt.values.min() else {
            validUntil = LoopInstant(nanoseconds: 0)
            isLapsed = true
            return
        }
        validUntil = min(beatAt + Self.standstill, oldest + Self.patience)
        let isLapsed = !maySend(now: loop.now)
        if self.isLapsed, !isLapsed {
            self.isLapsed = false
            whenRegained()
        }
        self.isLapsed = isLapsed
    }
}
