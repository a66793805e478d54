package import Encoding

/// Asks for an access token, and reads the answer (RFC 7523; Google Identity: OAuth 2.0 for server to server
/// applications).
///
/// Pure.
package enum FCMTokenRequest {
    /// What the token may be used for.
    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// The longest life of an assertion that Google takes.
    private static let assertionSeconds: Int64 = 3600
    /// A clock that is wrong by more than this is named as the cause of a refusal.
    private static let suspiciousSeconds: Int64 = 60

    /// The form to post; `unixSeconds` is the wall clock.
    package static func body(for account: FCMServiceAccount, unixSeconds: Int64) throws(KeyError) -> [UInt8] {
        let assertion = try SignedToken.make(keyID: account.privateKeyID, hasType: true, key: account.key) { claims in
            claims.key("iss")
            claims.string(account.clientEmail)
            claims.key("scope")
            claims.string(scope)
            claims.key("aud")
            claims.string(account.tokenURI)
            claims.key("iat")
            claims.integer(unixSeconds)
            claims.key("exp")
            claims.integer(unixSeconds + assertionSeconds)
        }
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        return Array(grant.utf8) + assertion
    }

    /// What an answer of the token endpoint means.
    ///
    /// `date` is its header of that name.
    package static func read(status: Int, body: [UInt8], date: String?, unixSeconds: Int64) -> FCMAccessToken.Fetched {
        let root = (try? JSONDocument(body))?.root
        if status == 200 { return token(root) }
        let word = root?["error"]?.string ?? root?["error"]?["status"]?.string
        let reason = ProviderAnswer.reason(word, status: status)
        let description = root?["error_description"]?.string ?? root?["error"]?["message"]?.string
        let said = description.map { "\(reason): \(Printable.value($0))" } ?? reason
        if status == 408 || status == 429 || status >= 500 {
            return .unavailable(.init(reason: reason, text: "the token endpoint answered \(status) (\(said))"))
        }
        let cause = cause(of: reason, description: description ?? "", date: date, unixSeconds: unixSeconds)
        return .refused(.init(reason: reason, text: "the token endpoint refuses the service account (\(said))\(cause)"))
    }

    private static func token(_ root: JSONValue?) -> FCMAccessToken.Fetched {
        guard let token = root?["access_token"]?.string, (1...16_384).contains(token.utf8.count),
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            return .refused(
                .init(reason: "NoAccessToken", text: "the token endpoint answered 200 without an access token")
            )
        }
        let expiry = root?["expires_in"]
        let seconds = expiry?.integer ?? expiry?.string.flatMap { Int64($0) } ?? 300
        return .token(Array(token.utf8), expiresIn: seconds)
    }

    /// What the person should look at, as the end of a sentence.
    private static func cause(of reason: String, description: String, date: String?, unixSeconds: Int64) -> String {
        if let date, let theirs = RetryAfter.unixSeconds(date), abs(theirs - unixSeconds) > suspiciousSeconds {
            let side = theirs > unixSeconds ? "behind" : "ahead of"
            return ": this machine's clock is \(abs(theirs - unixSeconds)) seconds \(side) Google's"
        }
        guard reason == "invalid_grant" else {
            return reason.hasPrefix("HTTP 3") ? ": it redirects, and redirects are not followed; look at token_uri" : ""
        }
        let text = description.lowercased()
        if text.contains("iat") || text.contains("timeframe") { return ": look at this machine's clock" }
        if text.contains("signature") { return ": its key was deleted or does not belong to it; make a new one" }
        if text.contains("account not found") || text.contains("not found") { return ": the account was deleted" }
        return ": its key was deleted, the account is disabled, or this machine's clock is wrong"
    }
}
