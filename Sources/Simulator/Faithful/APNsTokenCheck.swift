package import Encoding

/// Checks the provider tokens of APNs requests (Apple: Establishing a token-based connection to APNs).
package struct APNsTokenCheck: Sendable {
    /// A token is refused when it is older than this.
    package static let maximumAgeSeconds: Int64 = 3600
    /// Two tokens of one connection must be made at least this far apart.
    package static let minimumUpdateSeconds: Int64 = 1200
    /// How far a token's time may lie ahead of our clock.
    private static let maximumSkewSeconds: Int64 = 60

    private let key: SigningKey
    private let keyID: String
    private let teamID: String

    /// `key` may be a public key.
    package init(key: SigningKey, keyID: String, teamID: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// What one connection remembers of the tokens it has seen.
    package struct Memory: Sendable {
        /// The last token that was found good: a repetition is not checked again.
        fileprivate var good: (token: String, issuedAt: Int64)?

        package init() {}
    }

    /// The reason why a token is refused; nil when it is good.
    ///
    /// `now` is in unix seconds.
    package func refusal(ofAuthorization header: String?, now: Int64, memory: inout Memory) -> APNsRefusal? {
        guard let header else { return .missingProviderToken }
        guard header.lowercased().hasPrefix("bearer ") else { return .invalidProviderToken }
        let text = String(header.dropFirst("bearer ".count))
        if let good = memory.good, good.token == text {
            return now - good.issuedAt > Self.maximumAgeSeconds ? .expiredProviderToken : nil
        }
        guard let token = SignedToken(text.utf8), token.isSigned(by: key),
            token.header.root["kid"]?.string == keyID, token.claims.root["iss"]?.string == teamID,
            let issuedAt = token.claims.root["iat"]?.integer, issuedAt - now <= Self.maximumSkewSeconds
        else { return .invalidProviderToken }
        guard now - issuedAt <= Self.maximumAgeSeconds else { return .expiredProviderToken }
        if let good = memory.good, abs(issuedAt - good.issuedAt) < Self.minimumUpdateSeconds {
            return .tooManyProviderTokenUpdates
        }
        memory.good = (text, issuedAt)
        return nil
    }
}
