package import Transport

/// How fast a route may send: a provider that says that a project sends too much is spared for a while, and then gets
/// more and more again.
///
/// A pause first; then a rate that begins at ``firstRate`` and doubles each ``doublingTime``, for ``rampTime``; then
/// there is no limit (Google: Best practices when sending FCM messages at scale: from zero to the peak in 60 s at
/// least). A value type without I/O; one for each route.
package struct Throttle: Sendable {
    /// Pushes a second.
    package static let firstRate = 100.0
    package static let doublingTime: Duration = .seconds(8)
    package static let rampTime: Duration = .seconds(60)
    /// So many answers, within ``suspicion``, that do not say whether a device or the project is too much, mean the
    /// project.
    package static let unclearAnswers = 10
    package static let suspicion: Duration = .seconds(10)
    /// Pushes that may go at one moment of the ramp.
    private static let burst = 10.0

    /// No limit is in force: nothing to ask.
    package private(set) var isFree = true
    package private(set) var pausedUntil = LoopInstant(nanoseconds: 0)
    private var credit = 0.0
    private var creditedAt = LoopInstant(nanoseconds: 0)
    private var unclearSince = LoopInstant(nanoseconds: 0)
    private var unclear = 0

    package init() {}

    /// The provider is to be spared for so long; a longer pause that runs already stays.
    package mutating func pause(for duration: Duration, now: LoopInstant) {
        isFree = false
        pausedUntil = max(pausedUntil, now + duration)
        credit = 0
        creditedAt = pausedUntil
    }

    /// Notes an answer that says neither device nor project; true when there are so many that it must be the project.
    package mutating func noteUnclear(now: LoopInstant) -> Bool {
        if now - unclearSince > Self.suspicion {
            unclearSince = now
            unclear = 0
        }
        unclear += 1
        return unclear >= Self.unclearAnswers
    }

    /// How long nothing may be sent; nil: there is no pause.
    package func pause(now: LoopInstant) -> Duration? {
        isFree || now >= pausedUntil ? nil : pausedUntil - now
    }

    /// Takes one push; else how long to wait for the next.
    package mutating func take(now: LoopInstant) -> Duration? {
        guard !isFree else { return nil }
        if let pause = pause(now: now) { return pause }
        let age = now - pausedUntil
        guard age < Self.rampTime else {
            self = Throttle()
            return nil
        }
        let rate = Self.rate(age: age)
        credit = min(Self.burst, credit + (now - creditedAt).seconds * rate)
        creditedAt = now
        guard credit < 1 else {
            credit -= 1
            return nil
        }
        return .milliseconds(Int64(1000 * (1 - credit) / rate) + 1)
    }

    /// Pushes a second, so long after a pause.
    package static func rate(age: Duration) -> Double {
        // Doublings are interpolated between whole ones.
        let doublings = max(0, age.seconds) / doublingTime.seconds
        let whole = Int(doublings)
        return firstRate * Double(1 << min(whole, 20)) * (1 + doublings - Double(whole))
    }
}

extension Duration {
    /// As a number of seconds.
    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
