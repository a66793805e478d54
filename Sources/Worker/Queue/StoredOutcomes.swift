/// What became of one push of an unfinished entry, as Redis keeps it: 8 bytes, a hash of target and token whose three
/// lowest bits are the outcome.
package enum StoredOutcome: UInt64, CaseIterable, Sendable {
    case sent, removed, errored, expired
    /// It waits for another attempt, in a part of its own.
    case delayed

    fileprivate static let mask: UInt64 = 7

    package init(_ outcome: Outcome) {
        self =
            switch outcome {
            case .sent: .sent
            case .removed: .removed
            case .errored: .errored
            case .expired: .expired
            }
    }

    /// The outcome, unless the push waits.
    package var outcome: Outcome? {
        switch self {
        case .sent: .sent
        case .removed: .removed
        case .errored: .errored
        case .expired: .expired
        case .delayed: nil
        }
    }

    /// The record of a push; `target` is its number in the plan.
    package func record(token: [UInt8], target: Int) -> UInt64 {
        Self.key(token: token, target: target) | rawValue
    }

    fileprivate static func key(token: [UInt8], target: Int) -> UInt64 {
        TokenHash.of(token, salt: target &+ 1) & ~mask
    }
}

/// The outcomes that Redis keeps of an entry whose worker died: a successor does not repeat these pushes.
///
/// A value type without I/O.
package struct StoredOutcomes: Sendable {
    private var outcomes: [UInt64: StoredOutcome] = [:]

    package init() {}

    /// From records of 8 bytes each; what is left over at the end, or no record, is not looked at.
    package init(records: [UInt8]) {
        let span = records.span
        var index = 0
        while index &+ 8 <= span.count {
            let word = span.word(at: index)
            index &+= 8
            guard let outcome = StoredOutcome(rawValue: word & StoredOutcome.mask) else { continue }
            outcomes[word & ~StoredOutcome.mask] = outcome
        }
    }

    package var isEmpty: Bool { outcomes.isEmpty }

    package func outcome(token: [UInt8], target: Int) -> StoredOutcome? {
        outcomes.isEmpty ? nil : outcomes[StoredOutcome.key(token: token, target: target)]
    }
}
