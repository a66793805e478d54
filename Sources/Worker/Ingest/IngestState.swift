package import Transport

/// What a replica knows of the common sequence: where it is, which push messages it remembers, which are in the queue.
///
/// Events go in; what there is to do is asked for: ``nextWrite(now:)``, ``beat(now:)``, ``isDeaf(now:lastInput:)``.
/// A value type without I/O, clock or chance. All replicas that heard a mark give the messages after it the same names,
/// and Redis takes each name once, so that nothing here needs a lock: the lease says who writes first, no more.
package struct IngestState {
    package struct Timing: Sendable {
        /// How long a message may be remembered without being in the queue, before any replica writes it.
        package var overdue: Duration = .seconds(5)
        /// How long Redis must have shown a message as written before it is forgotten: longer than Redis can lose.
        package var retention: Duration = .seconds(3)
        /// How long to wait after Redis has refused a write.
        package var refusalPause: Duration = .seconds(1)
        /// Silence after which a subscription is deaf, if there was something to hear.
        package var deafness: Duration = .milliseconds(2500)

        package init() {}
    }

    /// What a message takes in memory at most, all together; beyond it written ones are forgotten early, and then
    /// new ones are dropped.
    package static let maximumBytes = 32 << 20
    /// What may be on its way to Redis without an answer.
    static let maximumUnansweredBytes = 1 << 20
    static let maximumUnanswered = 512
    /// How many stretches one beat asks for.
    static let maximumAsked = 500

    let timing: Timing
    let maximumBytes: Int

    // MARK: Hearing

    /// The stretch at hand; nil without a subscription, and before the first mark after joining without one.
    private(set) var current: StretchID?
    /// How many messages of the stretch at hand were heard.
    private var heardCount = 0
    /// The number of the last push message among them.
    private var lastPush = 0
    package private(set) var isSubscribed = false
    /// When the last mark was heard.
    package private(set) var heardMarkAt: LoopInstant?
    private(set) var newestHeardMark: Int64 = 0

    // MARK: Remembering

    var stretches: [Stretch] = []
    var nameless: [NamelessMessage] = []
    var nextNamelessNumber = 0
    var bytes = 0

    // MARK: Writing

    /// Which run of commands answers belong to: those of an earlier one say nothing any more.
    var connection = 0
    /// Whether the counts have been learned from the connection at hand.
    package internal(set) var isInStep = false
    /// Who holds the lease, as Redis told last; nil: not known since the subscription or the connection was lost.
    var lease: IngestBeatAnswer.Lease?
    var unansweredBytes = 0
    var unanswered = 0
    var pausedUntil: LoopInstant?
    /// The newest mark that Redis has told of, and since when.
    var announced: (mark: Int64, at: LoopInstant)?

    // MARK: Stopping

    package internal(set) var isStopping = false
    /// Redis has confirmed that this replica does not hold the lease.
    var hasReleased = false
    /// The mark by which the lease was given up, while it has not been heard.
    var awaitedMark: Int64?

    package init(timing: Timing = Timing(), maximumBytes: Int = Self.maximumBytes) {
        self.timing = timing
        self.maximumBytes = maximumBytes
    }
}

// MARK: - Hearing

extension IngestState {
    /// The subscription is confirmed; it begins at this mark, or, if it could not be joined to one, between two marks.
    package mutating func joined(at stretch: StretchID?) {
        isSubscribed = true
        begin(stretch)
        if let stretch { newestHeardMark = stretch.number }
    }

    /// The subscription was lost, or is ended: the stretch at hand ends here, what was heard of it stays.
    package mutating func subscriptionLost() {
        isSubscribed = false
        lease = nil
        heardMarkAt = nil
        awaitedMark = nil
        begin(nil)
    }

    package mutating func heardMark(_ stretch: StretchID, now: LoopInstant) {
        guard isSubscribed else { return }
        heardMarkAt = now
        newestHeardMark = stretch.number
        if let awaitedMark, stretch.number >= awaitedMark { self.awaitedMark = nil }
        if stretch != current { begin(stretch) }
    }

    private mutating func begin(_ stretch: StretchID?) {
        current = stretch
        heardCount = 0
        lastPush = 0
    }

    /// A message was heard, with a push key or without; each counts.
    @inline(__always)
    package mutating func heard() {
        heardCount &+= 1
    }

    /// The message that was just counted has a push key: remembers it; false if there is no room.
    package mutating func remember(channel: [UInt8], message: [UInt8], now: LoopInstant) -> Bool {
        let isNamed = current != nil
        let heard = HeardMessage(
            channel: channel,
            message: message,
            heardAt: now,
            number: isNamed ? heardCount : 0,
            previous: isNamed ? lastPush : 0
        )
        guard makeRoom(for: heard.bytes) else { return false }
        bytes += heard.bytes
        guard let current else {
            addNameless(heard)
            return true
        }
        if stretches.isEmpty || stretches[stretches.count - 1].id != current {
            // What was before it in this stretch has been forgotten, since it was written long ago.
            stretches.append(Stretch(id: current, known: lastPush))
        }
        stretches[stretches.count - 1].append(heard)
        lastPush = heardCount
        return true
    }

    private mutating func makeRoom(for needed: Int) -> Bool {
        if bytes + needed <= maximumBytes { return true }
        for index in stretches.indices {
            bytes -= stretches[index].forgetKnown()
            if bytes + needed <= maximumBytes { break }
        }
        dropEmptyStretches()
        return bytes + needed <= maximumBytes
    }

    mutating func dropEmptyStretches() {
        stretches.removeAll { $0.isEmpty }
    }

    /// Whether the subscription hears nothing although Redis has published a mark.
    ///
    /// `lastInput` is when anything came over the subscription.
    package func isDeaf(now: LoopInstant, lastInput: LoopInstant) -> Bool {
        guard isSubscribed, let announced, announced.mark > newestHeardMark else { return false }
        // A short while for the mark to arrive, after this process itself may have stood still.
        return now - lastInput >= timing.deafness && now - announced.at >= timing.deafness / 5
    }
}

// MARK: - Stopping

extension IngestState {
    /// Begins to leave: gives the lease up with the next beat, hears on to the mark of that, and writes what is left.
    package mutating func stop() {
        isStopping = true
    }

    /// Whether nothing more needs to be heard: the lease is given up, and its mark was heard.
    package var mayUnsubscribe: Bool {
        isStopping && (!isSubscribed || hasReleased && awaitedMark == nil)
    }

    /// Whether all that was heard is in the queue, so that this replica is not missed.
    package var isSettled: Bool { uncoveredCount == 0 }

    /// Messages that were heard and are not known to be in the queue.
    package var uncoveredCount: Int {
        stretches.reduce(nameless.count) { $0 + $1.uncoveredCount }
    }
}
