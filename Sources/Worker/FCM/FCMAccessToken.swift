/// Decides when an access token for FCM is fetched, how long it is used, and what a failure means.
///
/// Pure: events come in with the time, and say what to do next. Times are milliseconds of any clock that does not
/// jump. One fetch at a time; a token is replaced at ``refreshShare`` of its life; failures are repeated with growing
/// waits. Google Identity: Using OAuth 2.0 for server to server applications.
package struct FCMAccessToken: Sendable {
    /// What a fetch gave.
    package enum Fetched: Equatable, Sendable {
        /// A token, and the seconds that it lives.
        case token([UInt8], expiresIn: Int64)
        /// Google does not want this account or this request; trying again at once is of no use.
        case refused(Failure)
        /// Nobody could be asked, or Google is not well.
        case unavailable(Failure)
    }

    /// Why there is no token: Google's word, and a sentence for people.
    package struct Failure: Error, Equatable, Sendable {
        package let reason: String
        package let text: String

        package init(reason: String, text: String) {
            self.reason = reason
            self.text = text
        }
    }

    /// What to do now.
    package enum Step: Equatable, Sendable {
        case fetch
        /// Nothing before this time.
        case wait(until: Int64)
        /// A fetch is on its way.
        case none
    }

    /// The part of its life after which a token is replaced while it is still good.
    private static let refreshShare = 0.8
    /// After a refusal the account may have been mended, or the clock been set.
    private static let refusalPause: Int64 = 60_000
    private static let longestPause: Int64 = 60_000
    /// FCM's refusals of the old token may come this long after a new one.
    private static let refreshGrace: Int64 = 10_000

    private var header: [UInt8] = []
    private var fetchedAt: Int64 = .min
    private var usableUntil: Int64 = .min
    private var refreshAt: Int64 = .min
    /// No fetch before this time.
    private var pauseUntil: Int64 = .min
    private var failedFetches = 0
    private var isFetching = false
    /// The last refusal, while there is no token.
    package private(set) var failure: Failure?

    package init() {}

    /// The value of the header `authorization`; nil while there is no usable token.
    package func authorization(now: Int64) -> [UInt8]? {
        now < usableUntil ? header : nil
    }

    /// What to do now; after ``Step/fetch`` a fetch counts as begun.
    package mutating func next(now: Int64) -> Step {
        guard !isFetching else { return .none }
        let due = max(refreshAt, pauseUntil)
        guard now >= due else { return .wait(until: due) }
        isFetching = true
        return .fetch
    }

    /// Takes what the fetch gave.
    ///
    /// `random` is from 0 up to 1.
    package mutating func fetched(_ result: Fetched, now: Int64, random: Double) {
        isFetching = false
        switch result {
        case .token(let token, let seconds):
            use(token, milliseconds: min(max(seconds, 1), 86_400) * 1000, now: now)
        case .refused(let failure):
            failedFetches += 1
            self.failure = failure
            pauseUntil = now + Self.refusalPause
        case .unavailable:
            failedFetches += 1
            let window = min(Self.longestPause, 1000 << Int64(min(failedFetches - 1, 10)))
            pauseUntil = now + window / 2 + Int64(random * Double(window / 2))
        }
    }

    /// FCM says that the token is not good: another one is needed, unless this one is newer than the refused request.
    package mutating func refuse(now: Int64) {
        guard usableUntil != .min, now - fetchedAt >= Self.refreshGrace else { return }
        usableUntil = .min
        refreshAt = .min
    }

    private mutating func use(_ token: [UInt8], milliseconds life: Int64, now: Int64) {
        header = Array("Bearer ".utf8) + token
        failure = nil
        failedFetches = 0
        fetchedAt = now
        // A tenth of a short life, and a minute of a long one, are kept for requests on their way.
        usableUntil = now + max(life - life / 10, life - 60_000)
        refreshAt = now + Int64(Double(life) * Self.refreshShare)
        // Tokens of a second must not make one fetch after the other.
        pauseUntil = now + 500
    }
}
