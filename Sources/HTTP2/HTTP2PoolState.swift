package import Transport

/// When a pool opens connections and gives them up: decisions only, no I/O, no clock and no chance of its own.
///
/// One connection is made at a time. Another is added when all have been full for a while, or when those that stand
/// bring nothing; a failing host gets longer and longer pauses with jitter; those that are not needed are closed.
package struct HTTP2PoolState {
    package enum Action: Equatable {
        /// Begin to connect.
        case open(Int)
        /// Close an idle connection.
        case close(Int)
        /// Call `wake` at that moment.
        case wake(LoopInstant)
    }

    private enum Phase {
        case connecting
        case ready
        /// Takes no more requests.
        case leaving
    }

    private struct Member {
        let identifier: Int
        var phase: Phase
        var readySince = LoopInstant(nanoseconds: 0)
        /// It has brought an answer.
        var isProductive = false
        /// An answer has shown that the credential is good.
        var isProven = false
        /// It brings nothing although requests are open.
        var isSilent = false
        /// The peer has ended it because of our conduct.
        var isRebuked = false
        /// Given up by us.
        var isDismissed = false
    }

    // A connection that was of use but short-lived is not replaced faster than this: many short connections count as
    // an attack with Apple (Establishing a connection to APNs).
    private static let shortLife = Duration.seconds(1)

    private let options: HTTP2Options
    private var members: [Member] = []
    private var nextIdentifier = 1
    private var failureCount = 0
    private var pausedUntil: LoopInstant?
    private var fullSince: LoopInstant?

    package init(options: HTTP2Options) {
        self.options = options
    }

    /// Whether someone waits for room.
    package var isWanted: Bool { fullSince != nil }

    /// A request found no room.
    package mutating func needsRoom(now: LoopInstant) -> [Action] {
        if fullSince == nil { fullSince = now }
        return decide(now)
    }

    /// A request found room, or room was offered.
    package mutating func foundRoom() {
        fullSince = nil
    }

    /// The moment of a `wake` has come.
    package mutating func wake(now: LoopInstant) -> [Action] {
        decide(now)
    }

    /// The connection takes requests.
    package mutating func becameReady(_ identifier: Int, now: LoopInstant) {
        change(identifier) {
            $0.phase = .ready
            $0.readySince = now
        }
    }

    /// The connection has brought an answer: the host is well.
    package mutating func becameProductive(_ identifier: Int) {
        change(identifier) { $0.isProductive = true }
        failureCount = 0
    }

    /// An answer on the connection has shown that the credential is good.
    package mutating func becameProven(_ identifier: Int) {
        change(identifier) { $0.isProven = true }
    }

    /// The connection takes no requests while it is silent.
    package mutating func isSilent(_ identifier: Int, _ isSilent: Bool, now: LoopInstant) -> [Action] {
        change(identifier) { $0.isSilent = isSilent }
        return fullSince == nil ? [] : decide(now)
    }

    /// The connection takes no more requests, but may still bring answers.
    package mutating func isLeaving(_ identifier: Int, now: LoopInstant) -> [Action] {
        change(identifier) { $0.phase = .leaving }
        return fullSince == nil ? [] : decide(now)
    }

    /// The peer has asked for calm (RFC 9113 section 7): its end counts as a failure, whatever it has brought.
    package mutating func isRebuked(_ identifier: Int) {
        change(identifier) { $0.isRebuked = true }
    }

    /// Whoever decides on the connections has changed what was wrong: failures so far count no more.
    package mutating func forgetFailures() {
        failureCount = 0
        pausedUntil = nil
    }

    /// The connection is given up by us: that it may have brought nothing says nothing about the host.
    package mutating func isDismissed(_ identifier: Int) {
        change(identifier) { $0.isDismissed = true }
    }

    /// The connection is gone; `random` is in 0..<1.
    ///
    /// The pause before the next attempt, and what to do.
    package mutating func ended(
        _ identifier: Int,
        now: LoopInstant,
        random: Double
    ) -> (pause: Duration, actions: [Action]) {
        guard let index = members.firstIndex(where: { $0.identifier == identifier }) else { return (.zero, []) }
        let member = members.remove(at: index)
        var pause = Duration.zero
        if member.isDismissed {
            // Its end says nothing about the host.
        } else if member.isRebuked || !member.isProductive {
            failureCount += 1
            pause = Self.pause(afterFailures: failureCount, options, random: random)
        } else if now - member.readySince < Self.shortLife {
            pause = options.firstPause
        }
        if pause > .zero { pausedUntil = now + pause }
        return (pause, fullSince == nil ? [] : decide(now))
    }

    /// Closes connections that were not used for long, all but one; `lastUse` is nil for one with open requests.
    package mutating func tidy(now: LoopInstant, lastUse: (Int) -> LoopInstant?) -> [Action] {
        var spare = members.count { $0.phase == .ready } - 1
        var actions: [Action] = []
        for member in members.reversed() where member.phase == .ready && spare > 0 {
            guard let use = lastUse(member.identifier), now - use >= options.idleLifetime else { continue }
            change(member.identifier) { $0.isDismissed = true }
            actions.append(.close(member.identifier))
            spare -= 1
        }
        return actions
    }

    /// The pause after that many failures in a row: doubled each time, between half of it and the whole.
    static func pause(afterFailures count: Int, _ options: HTTP2Options, random: Double) -> Duration {
        var whole = options.firstPause
        for _ in 1..<max(count, 2) where count > 1 && whole < options.longestPause { whole = whole * 2 }
        whole = min(whole, options.longestPause)
        return whole / 2 + whole / 2 * min(max(random, 0), 1)
    }

    private mutating func decide(_ now: LoopInstant) -> [Action] {
        guard let fullSince, !members.contains(where: { $0.phase == .connecting }) else { return [] }
        if let pausedUntil, now < pausedUntil { return [.wake(pausedUntil)] }
        let ready = members.filter { $0.phase == .ready && !$0.isSilent }
        // Silent ones are replaced, but a host that answers nothing at all shall not get more and more connections.
        let silentCount = members.count { $0.phase == .ready && $0.isSilent }
        guard silentCount <= options.maximumConnections else { return [] }
        if !ready.isEmpty {
            // A connection with one stream until its credential is proven is no sign of a lack of connections.
            guard ready.count < options.maximumConnections, ready.allSatisfy(\.isProven) else { return [] }
            let growth = fullSince + options.growthDelay
            guard now >= growth else { return [.wake(growth)] }
            self.fullSince = now
        }
        let identifier = nextIdentifier
        nextIdentifier += 1
        members.append(Member(identifier: identifier, phase: .connecting))
        return [.open(identifier)]
    }

    private mutating func change(_ identifier: Int, _ body: (inout Member) -> Void) {
        guard let index = members.firstIndex(where: { $0.identifier == identifier }) else { return }
        body(&members[index])
    }
}
