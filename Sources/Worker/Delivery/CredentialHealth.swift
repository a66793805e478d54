package import Transport

/// Whether a provider takes a credential, and what follows when it does not.
///
/// A refused push fails at once; after ``refusalsToStop`` refusals without an accepted push in between, the others are
/// not sent any more, but for one each ``probeInterval``, which shows when the credential is good again. A value type
/// without I/O; one for each route.
package struct CredentialHealth: Sendable {
    /// So many answers may come late for pushes that were on their way, and a provider may err once.
    package static let refusalsToStop = 10
    package static let probeInterval: Duration = .seconds(5)

    /// The provider's word, from the first refusal until a push is accepted.
    package private(set) var reason: String?
    private var refusals = 0
    private var probeAt = LoopInstant(nanoseconds: 0)

    package init() {}

    /// Whether pushes fail without being sent.
    package var isStopped: Bool { refusals >= Self.refusalsToStop }

    /// Notes a refusal; true when its reason is new, and worth a line in the log.
    package mutating func refuse(_ reason: String, now: LoopInstant) -> Bool {
        let isNew = self.reason != reason
        self.reason = reason
        refusals = min(refusals + 1, Self.refusalsToStop)
        if isStopped { probeAt = now + Self.probeInterval }
        return isNew
    }

    /// The provider ended a connection since it does not take the credential: it means all that follow.
    package mutating func stop(_ reason: String, now: LoopInstant) -> Bool {
        refusals = Self.refusalsToStop
        return refuse(reason, now: now)
    }

    /// Notes an answer that only a good credential gets; true when it was refused before.
    package mutating func accept() -> Bool {
        guard reason != nil else { return false }
        self = CredentialHealth()
        return true
    }

    /// Whether a push may be sent now; when stopped, the next one is a probe only after a while.
    package mutating func maySend(now: LoopInstant) -> Bool {
        guard isStopped else { return true }
        guard now >= probeAt else { return false }
        probeAt = now + Self.probeInterval
        return true
    }
}
