package import Transport

/// What is worth a line in the log, but not one for each push.
///
/// A value type without I/O; one for each route.
package struct Alarms: Sendable {
    /// The same is said again after this time, if it still happens.
    package static let interval: Duration = .seconds(60)
    private static let maximumCount = 100

    private var told: [String: LoopInstant] = [:]

    package init() {}

    /// Whether to say it now.
    package mutating func isDue(_ reason: String, now: LoopInstant) -> Bool {
        if let last = told[reason], now - last < Self.interval { return false }
        if told.count >= Self.maximumCount { told = [:] }
        told[reason] = now
        return true
    }
}

/// When refusals that may hold for one connection only lead to new ones.
///
/// Making connections again and again counts as an attack with Apple, so each cause gets new ones once in
/// ``interval``. A value type without I/O; one for each route.
package struct Reconnections: Sendable {
    package enum Decision: Equatable, Sendable {
        /// Give up the connections, and try again on new ones.
        case reconnect
        /// They are new already: try again.
        case again
        /// New ones have not helped.
        case hopeless
    }

    package static let interval: Duration = .seconds(600)
    /// Refusals from connections that were given up come for so long.
    package static let lateness: Duration = .seconds(5)
    private static let maximumCount = 1000

    private var made: [String: LoopInstant] = [:]

    package init() {}

    /// What to do for a push that was refused for that cause.
    package mutating func decide(_ cause: String, now: LoopInstant) -> Decision {
        if let last = made[cause], now - last < Self.interval {
            return now - last < Self.lateness ? .again : .hopeless
        }
        if made.count >= Self.maximumCount { made = [:] }
        made[cause] = now
        return .reconnect
    }
}
