/// What the worker counts.
///
/// Plain numbers, written only on the worker's loop.
package struct Tallies: Equatable, Sendable {
    package var sent = 0
    package var removed = 0
    package var errored = 0
    package var expired = 0

    mutating func count(_ outcome: Outcome) {
        switch outcome {
        case .sent: sent += 1
        case .removed: removed += 1
        case .errored: errored += 1
        case .expired: expired += 1
        }
    }
}

/// The worker's counters.
///
/// Confined to the worker's loop.
package final class Counters {
    /// Messages heard without a push key.
    package var ignored = 0
    /// Push messages taken in.
    package var accepted = 0
    /// Messages with a push key that are no JSON.
    package var invalid = 0
    /// Messages over 1 MiB.
    package var oversized = 0
    /// Messages that could not be written to the queue, and were dropped since memory for them ran out.
    package var dropped = 0
    /// Messages heard without a name and written as new, so that they may be in the queue twice.
    package var nameless = 0
    /// Queue entries that are no messages.
    package var malformedEntries = 0
    /// Entries that were put aside, since several workers died with them.
    package var deadLetters = 0
    /// Messages all of whose pushes have an outcome.
    package var completed = 0
    /// Traces that could not be published.
    package var lostTraces = 0
    package var retries = 0
    /// Devices that their provider did not know, and whose registrations were kept.
    package var keptDoubtful = 0
    /// Removed registrations, by gateway and the provider's word.
    package private(set) var removals: [Gateway: [String: Int]] = [:]
    package private(set) var apns = Tallies()
    package private(set) var fcm = Tallies()

    package init() {}

    /// Writes the counts down, for who wants to know at the end what came of everything.
    package func write(to log: Log) {
        log.info(
            "counted since the start",
            [
                "accepted": accepted, "ignored": ignored, "invalid": invalid, "oversized": oversized,
                "dropped": dropped, "nameless": nameless, "malformed_entries": malformedEntries, "completed": completed,
                "dead_letters": deadLetters,
                "retries": retries, "lost_traces": lostTraces, "kept_doubtful": keptDoubtful,
            ]
        )
        for (gateway, tallies) in [(Gateway.apns, apns), (.fcm, fcm)] {
            log.info(
                "pushes since the start",
                [
                    "gateway": gateway.rawValue, "sent": tallies.sent, "removed": tallies.removed,
                    "errored": tallies.errored, "expired": tallies.expired,
                ]
            )
        }
    }

    /// Counts a removed registration; the words are those of the tables, so there are few.
    package func countRemoval(_ gateway: Gateway, reason: String) {
        removals[gateway, default: [:]][reason, default: 0] += 1
    }

    package func count(_ outcome: Outcome, _ gateway: Gateway) {
        switch gateway {
        case .apns: apns.count(outcome)
        case .fcm: fcm.count(outcome)
        }
    }
}
