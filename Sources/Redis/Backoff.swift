/// How long to wait before the next attempt: doubled with each failure up to a limit, and spread at random, so that
/// many processes that lost the same server do not come back at the same moment.
package struct Backoff: Sendable {
    private let first: Duration
    private let limit: Duration
    /// The whole delay that the next failure has, before it is spread.
    private var current: Duration

    package init(first: Duration = .milliseconds(100), limit: Duration = .seconds(5)) {
        self.first = first
        self.limit = limit
        current = min(first, limit)
    }

    /// The delay after one more failure, between its half and the whole of it; `random` is from 0 up to 1.
    package mutating func next(random: Double) -> Duration {
        let whole = current
        current = min(current * 2, limit)
        return whole / 2 + (whole / 2) * min(max(random, 0), 1)
    }

    /// Begins anew, after a success that lasted.
    package mutating func reset() {
        current = min(first, limit)
    }
}
