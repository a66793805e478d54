/// How far this machine's clock is from a provider's, as the `date` headers of its answers show.
///
/// Both providers refuse tokens that were made at the wrong time, in words that do not say so. A value type without
/// I/O.
package struct ClockSkew: Sendable {
    /// Answers take their time, and headers have whole seconds.
    package static let toleratedSeconds: Int64 = 60
    /// What lasts is said again after so long.
    private static let reminderSeconds: Int64 = 3600

    package enum Finding: Equatable, Sendable {
        /// Our clock is behind the provider's by so many seconds; negative: ahead of it.
        case behind(Int64)
        /// It is right again.
        case right
    }

    private var said: (skew: Int64, at: Int64)?

    package init() {}

    /// Takes the header of an answer; gives what is worth a line in the log.
    package mutating func note(date: String?, unixSeconds now: Int64) -> Finding? {
        guard let date, let theirs = RetryAfter.unixSeconds(date) else { return nil }
        let skew = theirs - now
        guard abs(skew) > Self.toleratedSeconds else {
            guard said != nil else { return nil }
            said = nil
            return .right
        }
        if let said {
            let isKnown = abs(skew - said.skew) <= Self.toleratedSeconds
            if isKnown, (0..<Self.reminderSeconds).contains(now - said.at) { return nil }
        }
        said = (skew, now)
        return .behind(skew)
    }
}

/// Compares this machine's clock with one provider's, and says in the log when it is wrong.
///
/// Confined to the worker's loop.
package final class ClockWatch {
    private let peer: String
    private let log: Log
    /// The wall clock in unix seconds.
    private let now: () -> Int64
    private var skew = ClockSkew()

    package init(peer: String, log: Log, now: @escaping () -> Int64) {
        self.peer = peer
        self.log = log
        self.now = now
    }

    /// Takes the `date` header of an answer.
    package func note(_ date: String?) {
        guard date != nil else { return }
        switch skew.note(date: date, unixSeconds: now()) {
        case .behind(let seconds):
            log.warning(
                "this machine's clock is wrong: set it (NTP), or tokens are refused",
                ["provider": peer, seconds > 0 ? "behind_seconds" : "ahead_seconds": abs(seconds)]
            )
        case .right: log.info("this machine's clock is right again", ["provider": peer])
        case nil: break
        }
    }
}
