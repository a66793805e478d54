package import Encoding

/// The signed token that APNs wants with each request; one for a key and process, shared by its environments.
///
/// APNs refuses tokens older than an hour, and connections on which the token changes within 20 minutes (Apple:
/// Establishing a token-based connection to APNs). So the time of issue lies on a grid of ``gridSeconds``, which
/// makes all replicas use the same token, and a new one is begun ``lagSeconds`` late, so that a clock that is a
/// little fast does not make tokens of the future. A token's age is between these two, and never above 50 minutes. A
/// token that APNs refused is replaced between two steps of the grid; the next ones come back to it, 20 minutes apart
/// at least.
/// Confined to the worker's loop; the wall clock comes with each call.
package final class APNsProviderToken {
    /// Between the times of issue of two tokens.
    package static let gridSeconds: Int64 = 45 * 60
    /// The age of a token when its use begins.
    package static let lagSeconds: Int64 = 60
    /// APNs' limit for changes of the token.
    private static let shortestUse: Int64 = 20 * 60
    /// Answers to requests with the refused token may come this long after a new one was made.
    private static let refreshGrace: Int64 = 60

    private let credential: APNsCredential
    private var header: [UInt8] = []
    private var issuedAt: Int64 = .min
    /// Unix milliseconds between which ``header`` needs no thought.
    private var goodFrom: Int64 = .max
    private var goodUntil: Int64 = .min
    /// When APNs' refusal last led to a new token, in unix seconds.
    private var refreshedAt: Int64 = .min

    /// `now` is the wall clock in unix milliseconds.
    package init(_ credential: APNsCredential, now: Int64) {
        self.credential = credential
        renew(seconds: Self.seconds(now))
    }

    /// Signs once, so that a key that cannot sign is found before it is needed.
    package static func check(_ credential: APNsCredential) throws(KeyError) {
        _ = try sign(credential, issuedAt: 0)
    }

    /// The value of the header `authorization`; `now` is the wall clock in unix milliseconds.
    package func authorization(now: Int64) -> [UInt8] {
        if now >= goodFrom, now < goodUntil { return header }
        renew(seconds: Self.seconds(now))
        return header
    }

    /// APNs says that the token is expired: makes another if it may.
    package func refresh(now: Int64) -> CredentialRefresh {
        let seconds = Self.seconds(now)
        if refreshedAt != .min, (0..<Self.refreshGrace).contains(seconds - refreshedAt) { return .underway }
        // Whole minutes, so that most replicas make the same one.
        let wanted = seconds - (seconds % 60 + 60) % 60
        guard !(0..<Self.shortestUse).contains(wanted - issuedAt) else { return .impossible }
        guard let token = try? Self.sign(credential, issuedAt: wanted) else { return .impossible }
        refreshedAt = seconds
        use(token, issuedAt: wanted)
        return .renewed
    }

    /// The time of issue that the grid gives for a moment, in unix seconds.
    package static func issueTime(seconds: Int64) -> Int64 {
        let shifted = seconds - lagSeconds
        let remainder = shifted % gridSeconds
        return shifted - (remainder < 0 ? remainder + gridSeconds : remainder)
    }

    private func renew(seconds: Int64) {
        var wanted = Self.issueTime(seconds: seconds)
        if (1..<Self.shortestUse).contains(wanted &- issuedAt) {
            // After one that was made between two steps.
            wanted = issuedAt + Self.shortestUse
            if wanted + Self.lagSeconds > seconds { return }
        }
        // A clock that is set back a little does not bring an older token back.
        let age = issuedAt == .min ? .max : seconds - issuedAt
        if wanted <= issuedAt, (-Self.lagSeconds..<Self.gridSeconds + Self.lagSeconds).contains(age) { return }
        guard let token = try? Self.sign(credential, issuedAt: wanted) else { return }
        use(token, issuedAt: wanted)
    }

    private func use(_ token: [UInt8], issuedAt: Int64) {
        header = Array("bearer ".utf8) + token
        self.issuedAt = issuedAt
        goodFrom = (issuedAt - Self.lagSeconds) * 1000
        // Until the next step of the grid, also for a token that was issued between two of them.
        let nextStep = Self.issueTime(seconds: issuedAt + Self.lagSeconds) + Self.gridSeconds
        goodUntil = (max(nextStep, issuedAt + Self.shortestUse) + Self.lagSeconds) * 1000
    }

    private static func sign(_ credential: APNsCredential, issuedAt: Int64) throws(KeyError) -> [UInt8] {
        try SignedToken.make(keyID: credential.keyID, key: credential.key) { claims in
            claims.key("iss")
            claims.string(credential.teamID)
            claims.key("iat")
            claims.integer(issuedAt)
        }
    }

    private static func seconds(_ milliseconds: Int64) -> Int64 {
        milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
    }
}
