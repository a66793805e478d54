package import Encoding

/// Checks the provider tokens of APNs requests (Apple: Establishing a token-based connection to APNs).
package struct APNsTokenCheck: Sendable {
    /// A token is refused when it is older than this.
    package static let maximumAgeSeconds: Int64 = 3600
    /// Two tokens of one connection must be made at least this far apart.
    package static let minimumUpdateSeconds: Int64 = 1200
    /// How far a token's time may lie ahead of our clock.
    private static let maximumSkewSeconds: Int64 = 60

    /// A key that the team has made, of one team or another.
    package struct Key: Sendable {
        /// May be a public key.
        package let key: SigningKey
        package let keyID: String
        package let teamID: String
        /// The environments that it is bound to; empty: none.
        package let environments: Set<String>

        package init(key: SigningKey, keyID: String, teamID: String, environments: Set<String> = []) {
            self.key = key
            self.keyID = keyID
            self.teamID = teamID
            self.environments = environments
        }
    }

    private let keys: [String: Key]

    package init(keys: [Key]) {
        self.keys = Dictionary(keys.map { ($0.keyID, $0) }) { first, _ in first }
    }

    /// `key` may be a public key.
    package init(key: SigningKey, keyID: String, teamID: String) {
        self.init(keys: [Key(key: key, keyID: keyID, teamID: teamID)])
    }

    /// What one connection remembers of the tokens it has seen.
    package struct Memory: Sendable {
        /// The last token that was found good: a repetition is not checked again.
        fileprivate var good: (token: String, issuedAt: Int64)?
        /// The first key that was used.
        fileprivate var keyID: String?

        package init() {}
    }

    /// The reason why a token is refused; nil when it is good.
    ///
    /// `now` is in unix seconds.
    package func refusal(
        ofAuthorization header: String?,
        now: Int64,
        environment: String,
        memory: inout Memory
    ) -> APNsRefusal? {
        guard let header else { return .missingProviderToken }
        guard header.lowercased().hasPrefix("bearer ") else { return .invalidProviderToken }
        let text = String(header.dropFirst("bearer ".count))
        if let good = memory.good, good.token == text {
            return now - good.issuedAt > Self.maximumAgeSeconds ? .expiredProviderToken : nil
        }
        guard let token = SignedToken(text.utf8), let keyID = token.header.root["kid"]?.string,
            let key = keys[keyID], token.isSigned(by: key.key), token.claims.root["iss"]?.string == key.teamID,
            let issuedAt = token.claims.root["iat"]?.integer, issuedAt - now <= Self.maximumSkewSeconds
        else { return .invalidProviderToken }
        guard key.environments.isEmpty || key.environments.contains(environment) else {
            return .badEnvironmentKeyInToken
        }
        guard memory.keyID ?? keyID == keyID else { return .unrelatedKeyIDInToken }
        guard now - issuedAt <= Self.maximumAgeSeconds else { return .expiredProviderToken }
        if let good = memory.good, abs(issuedAt - good.issuedAt) < Self.minimumUpdateSeconds {
            return .tooManyProviderTokenUpdates
        }
        memory.good = (text, issuedAt)
        memory.keyID = keyID
        return nil
    }
}
