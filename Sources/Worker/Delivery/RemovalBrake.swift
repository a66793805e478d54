/// Stops doubtful removals when they come in runs: a wrong environment must not empty a registry.
///
/// `BadDeviceToken` and `DeviceTokenNotForTopic` may mean a dead token, or a credential, environment or topic that does
/// not fit. The brake looks at the recent answers of a credential and environment: at least ``minimumAnswers`` are
/// needed, and at most the set share of them may be doubtful, else doubtful removals are not done. 410 answers do not
/// count as doubtful. A value type without I/O; one for each route.
package struct RemovalBrake: Sendable {
    /// Answers needed before a doubtful removal is done at all.
    package static let minimumAnswers = 20
    /// How many of the newest answers are looked at.
    package static let windowLength = 200

    private let maximumShare: Double
    /// A ring of the newest answers; true: doubtful.
    private var window: [Bool] = []
    private var next = 0
    private var doubtful = 0

    /// The share, from 0 to 1, of doubtful answers above which doubtful removals stop.
    package init(maximumShare: Double) {
        self.maximumShare = maximumShare
        window.reserveCapacity(Self.windowLength)
    }

    /// Notes one answer of the provider.
    package mutating func note(doubtful isDoubtful: Bool) {
        if window.count < Self.windowLength {
            window.append(isDoubtful)
        } else {
            if window[next] { doubtful -= 1 }
            window[next] = isDoubtful
        }
        next = (next + 1) % Self.windowLength
        if isDoubtful { doubtful += 1 }
    }

    /// Whether a doubtful removal may be done now.
    package var allowsRemoval: Bool {
        window.count >= Self.minimumAnswers && Double(doubtful) <= maximumShare * Double(window.count)
    }
}
