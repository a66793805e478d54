package import Transport

/// Until when a worker may send, from the turns of its loop and the signs of life that Redis has confirmed.
///
/// A value type without I/O.
package struct SignsOfLife {
    /// A sign of life is good for so long.
    ///
    /// Less than ``TakeoverPace/idleLimit``, by the age of entries that were given since the sign before it, and by the
    /// time that a push takes.
    package static let patience: Duration = .seconds(3)
    /// A loop that did not turn for so long has stood still.
    package static let standstill: Duration = .seconds(2)

    private var confirmedAt: [EntryStream.Kind: LoopInstant] = [:]
    private var beatAt: LoopInstant
    /// When it was found last that the loop had stood still.
    package private(set) var stoodStillAt: LoopInstant

    package init(now: LoopInstant) {
        beatAt = now
        stoodStillAt = now
    }

    /// The loop turns; answers how long it had stood still, if it had.
    package mutating func beat(now: LoopInstant) -> Duration? {
        let gap = now - beatAt
        beatAt = now
        guard gap >= Self.standstill else { return nil }
        stoodStillAt = now
        return gap
    }

    /// Redis has confirmed a sign of life, sent at that moment, for all entries that this worker owns in a stream.
    package mutating func confirm(_ kind: EntryStream.Kind, sentAt: LoopInstant) { confirmedAt[kind] = sentAt }

    /// The connection to Redis is lost: outcomes could not be stored.
    package mutating func lapse() { confirmedAt = [:] }

    /// The moment up to which no other worker can have taken anything over.
    package var validUntil: LoopInstant {
        let confirmed = EntryStream.Kind.allCases.compactMap { kind in
            confirmedAt[kind].flatMap { $0 >= stoodStillAt ? $0 : nil }
        }
        guard confirmed.count == EntryStream.Kind.allCases.count, let oldest = confirmed.min() else {
            return LoopInstant(nanoseconds: 0)
        }
        return min(beatAt + Self.standstill, oldest + Self.patience)
    }
}
