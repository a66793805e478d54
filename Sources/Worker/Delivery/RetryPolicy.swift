/// When a push is tried again, and when no more.
///
/// Pure but for the chance that it is given. Apple: "Handling notification responses from APNs" (5xx after 15
/// minutes); Google: "Best practices when sending FCM messages at scale" (5xx not before 10 s, 429 after 60 s if
/// nothing else is said, always with jitter). A retry that would come after the push's time to live is none.
package struct RetryPolicy: Sendable {
    /// A number from 0 up to, and without, 1.
    private let random: @Sendable () -> Double

    package init(random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }) {
        self.random = random
    }

    /// How long to wait before the next attempt; nil: give up.
    ///
    /// `attempt` is how many attempts have ended in this way (``Tries``). `status` is nil when there was no answer.
    /// `retryAfter` is what the provider asks for, and is never undercut.
    package func delay(
        afterAttempt attempt: Int,
        gateway: Gateway,
        status: Int?,
        retryAfter: Duration?,
        timeLeft: Duration
    ) -> Duration? {
        let range = Self.range(afterAttempt: attempt, gateway: gateway, status: status, retryAfter: retryAfter)
        let seconds = range.lowerBound + random() * (range.upperBound - range.lowerBound)
        let delay = Duration.milliseconds(Int64(seconds * 1000))
        return delay < timeLeft ? delay : nil
    }

    /// How long a push is put aside for that could not be sent `count` times.
    package func patience(afterStalls count: Int) -> Duration {
        let limit = Self.growing(2, count, limit: 60)
        return .milliseconds(Int64((limit / 2 + random() * limit / 2) * 1000))
    }

    /// How long a route is spared that sends too much: as asked, or a minute.
    package func projectPause(asked: Duration?) -> Duration {
        let range = Self.range(afterAttempt: 1, gateway: .fcm, status: 429, retryAfter: asked)
        let seconds = range.lowerBound + random() * (range.upperBound - range.lowerBound)
        return .milliseconds(Int64(min(seconds, Self.longestPause) * 1000))
    }

    /// How long a push waits that must not be sent for a while: that while, and a little more, so that not all come
    /// back at the same moment; nil: its time to live ends before.
    package func postponement(for pause: Duration, timeLeft: Duration) -> Duration? {
        let spread = min(30, max(0.2, pause.seconds / 2))
        let delay = pause + .milliseconds(Int64(random() * spread * 1000))
        return delay < timeLeft ? delay : nil
    }

    /// Nobody asks for more than an hour and means it.
    private static let longestPause = 3600.0

    /// The seconds between which chance decides.
    private static func range(
        afterAttempt attempt: Int,
        gateway: Gateway,
        status: Int?,
        retryAfter: Duration?
    ) -> ClosedRange<Double> {
        let asked = retryAfter.map { min(Double($0.components.seconds), 1e9) }
        let range = unaskedRange(afterAttempt: attempt, gateway: gateway, status: status, isAsked: asked != nil)
        guard let asked, asked > range.lowerBound else { return range }
        // What is asked for, and a little more, so that not all come back at the same moment.
        return asked...(asked + max(1, asked / 10))
    }

    private static func unaskedRange(
        afterAttempt attempt: Int,
        gateway: Gateway,
        status: Int?,
        isAsked: Bool
    ) -> ClosedRange<Double> {
        switch (gateway, status) {
        case (.apns, 429?): spread(growing(1, attempt, limit: 900))
        case (.apns, (500...599)?): apnsServerError(attempt)
        case (.fcm, 429?): spread(isAsked ? 0.5 : growing(60, attempt, limit: 3600))
        case (.fcm, (500...599)?): spread(growing(10, attempt, limit: 600))
        // No answer, or one that asks for another connection: full jitter over a growing time.
        default: 0.05...growing(0.5, attempt, limit: 60)
        }
    }

    /// Another server may be better at once; after that Apple's 15 minutes count.
    private static func apnsServerError(_ attempt: Int) -> ClosedRange<Double> {
        attempt <= 1 ? 1...5 : 900...1080
    }

    private static func growing(_ first: Double, _ attempt: Int, limit: Double) -> Double {
        min(limit, first * Double(1 << min(max(attempt, 1) - 1, 20)))
    }

    private static func spread(_ seconds: Double) -> ClosedRange<Double> {
        seconds...(2 * seconds)
    }
}
