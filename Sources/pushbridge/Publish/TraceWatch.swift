import Worker

/// Follows the traces of one message from its publish to its end.
///
/// A publisher does not know the id that the message gets: it is that of the first `received` trace on its channel with
/// its number of bytes. Traces that came before that one are kept. A value type without I/O.
struct TraceWatch: Sendable {
    // Messages of others may be traced at the same time, on a busy debug channel.
    private static let maximumKept = 10_000

    private let channel: String
    private let byteCount: Int64
    /// How many targets will be completed; what failed before it became one is completed as well.
    private let targetCount: Int
    /// How many errors come of the message as a whole, after which nothing is completed.
    private let failureCount: Int
    private var id: String?
    private var kept: [TraceLine] = []
    private(set) var completedCount = 0
    private var errorCount = 0
    /// Whether something of the message was not sent for good.
    private(set) var hasFailure = false

    /// `plan` tells what to wait for.
    init(channel: String, message: [UInt8], plan: Plan) {
        self.channel = channel
        byteCount = Int64(message.count)
        failureCount = plan.failures.count { $0.gateway == nil }
        targetCount = plan.targets.count + plan.failures.count - failureCount
    }

    /// Takes the next trace and answers those that can be shown.
    mutating func receive(_ trace: TraceLine) -> [TraceLine] {
        guard trace.channel == channel else { return [] }
        if let id {
            guard trace.id == id else { return [] }
            note(trace)
            return [trace]
        }
        guard isBeginning(trace) else {
            if kept.count < Self.maximumKept { kept.append(trace) }
            return []
        }
        id = trace.id
        let own = [trace] + kept.filter { $0.id == trace.id }
        kept = []
        for trace in own { note(trace) }
        return own
    }

    /// Whether the message was taken in.
    var hasBegun: Bool { id != nil }

    /// Whether everything has come.
    var isDone: Bool { hasBegun && completedCount >= targetCount && errorCount >= failureCount }

    /// Whether there is anything to wait for after the beginning.
    var expectsMore: Bool { targetCount + failureCount > 0 }

    /// What is missing, as a part of a sentence.
    var missing: String {
        guard hasBegun else { return "no trace of the message has come" }
        return "\(completedCount) of \(targetCount) targets are completed"
    }

    private func isBeginning(_ trace: TraceLine) -> Bool {
        // A message that is no JSON is never taken in: its one trace has no id.
        (trace.stage == "received" && trace.messageBytes == byteCount) || (trace.stage == "error" && trace.id == "-")
    }

    private mutating func note(_ trace: TraceLine) {
        switch trace.stage {
        case "completed":
            completedCount += 1
            if trace.failedCount > 0 { hasFailure = true }
        case "error":
            if !trace.hasDevice { errorCount += 1 }
            hasFailure = true
        default: break
        }
    }
}
