/// How a push ended.
///
/// Every push of a message has exactly one outcome.
package enum Outcome: Equatable, Sendable {
    /// The provider accepted it.
    case sent
    /// The provider said that the device is gone, and its registration was removed.
    case removed
    /// It failed for good.
    case errored
    /// It was not sent any more, since the message's time to live ran out.
    case expired
}

/// The count of outcomes of one target; `expected` is always the sum of the four.
package struct Tally: Equatable, Sendable {
    /// Devices that were to get a push: those found in the set, less the excluded ones.
    package private(set) var expected = 0
    /// Devices that were left out because the message excludes them.
    package private(set) var excluded = 0
    package private(set) var sent = 0
    package private(set) var removed = 0
    package private(set) var errored = 0
    package private(set) var expired = 0
    /// Pushes that wait for another attempt elsewhere: whoever makes it counts their outcome.
    package private(set) var delayed = 0

    package init(
        expected: Int = 0,
        excluded: Int = 0,
        sent: Int = 0,
        removed: Int = 0,
        errored: Int = 0,
        expired: Int = 0
    ) {
        self.expected = expected
        self.excluded = excluded
        self.sent = sent
        self.removed = removed
        self.errored = errored
        self.expired = expired
    }

    /// Pushes that have no outcome yet, and wait for it here.
    package var unfinished: Int { expected - sent - removed - errored - expired - delayed }

    package mutating func delay(_ number: Int = 1) { delayed += number }

    package mutating func expect(_ count: Int = 1) { expected += count }

    package mutating func exclude() { excluded += 1 }

    package mutating func count(_ outcome: Outcome, _ number: Int = 1) {
        switch outcome {
        case .sent: sent += number
        case .removed: removed += number
        case .errored: errored += number
        case .expired: expired += number
        }
    }
}
