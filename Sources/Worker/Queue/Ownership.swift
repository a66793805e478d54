package import Transport

/// Whether this worker may send what it has taken: only while it knows that no other has taken it over.
///
/// A worker that has shown no sign of life for 5 s counts as dead, and others serve its entries. So it sends only for a
/// shorter time after its last sign of life that Redis has confirmed (``SignsOfLife``); not while it has no connection
/// to store outcomes by; and after its loop stood still (the process was stopped, the machine slept), not before it has
/// asked Redis again what it owns. Confined to the worker's loop.
package final class Ownership {
    static let beat: Duration = .milliseconds(500)

    private let loop: EventLoop
    private let log: Log
    private var signs: SignsOfLife
    private var validUntil = LoopInstant(nanoseconds: 0)
    private var isLapsed = true
    private var beatTimer: LoopTimer?

    /// Everything that is owned must be shown to Redis now.
    var whenStoodStill: [() -> Void] = []
    /// Sending is allowed again.
    package var whenRegained: () -> Void = {}

    package init(loop: EventLoop, log: Log) {
        self.loop = loop
        self.log = log
        signs = SignsOfLife(now: loop.now)
    }

    /// Whether a push may be sent at this moment.
    package func maySend(now: LoopInstant) -> Bool { now < validUntil }

    /// Whether what was asked for at that moment may have been given to another worker since.
    func isDoubtful(askedAt: LoopInstant, patience: Duration) -> Bool {
        askedAt <= signs.stoodStillAt || loop.now - askedAt > patience
    }

    /// Begins to watch the loop.
    func start() {
        signs = SignsOfLife(now: loop.now)
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
        if let gap = signs.beat(now: loop.now) {
            log.warning("the process stood still; what it owns is read again", ["milliseconds": gap.wholeMilliseconds])
            for action in whenStoodStill { action() }
        }
        update()
    }

    /// Redis has confirmed a sign of life, sent at that moment, for all entries that this worker owns in a stream.
    func confirm(_ kind: EntryStream.Kind, sentAt: LoopInstant) {
        signs.confirm(kind, sentAt: sentAt)
        update()
    }

    /// The connection to Redis is lost.
    func lapse() {
        signs.lapse()
        update()
    }

    private func update() {
        validUntil = signs.validUntil
        let wasLapsed = isLapsed
        isLapsed = !maySend(now: loop.now)
        if wasLapsed, !isLapsed { whenRegained() }
    }
}
