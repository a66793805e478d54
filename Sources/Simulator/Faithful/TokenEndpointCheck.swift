package import Encoding

/// Checks a request to Google's token endpoint for an access token of a service account (Google: Using OAuth 2.0 for
/// server to server applications; RFC 7523).
package struct TokenEndpointCheck: Sendable {
    /// The scope that FCM needs.
    package static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// How long a given access token lasts.
    package static let lifetimeSeconds = 3599
    private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The longest life of an assertion, and how far it may lie ahead of our clock.
    private static let maximumLifeSeconds: Int64 = 3900
    private static let maximumSkewSeconds: Int64 = 300

    /// Why a request is refused (RFC 6749 section 5.2).
    package struct Refusal: Equatable, Sendable {
        package let error: String
        package let description: String

        /// The answer's JSON; its status is 400.
        package var body: [UInt8] {
            var json = JSONWriter()
            json.beginObject()
            json.key("error")
            json.string(error)
            json.key("error_description")
            json.string(description)
            json.endObject()
            return json.bytes
        }
    }

    private let key: SigningKey
    private let clientEmail: String
    private let audience: String

    /// `key` may be a public key; `audience` is the endpoint's own URL.
    package init(key: SigningKey, clientEmail: String, audience: String) {
        self.key = key
        self.clientEmail = clientEmail
        self.audience = audience
    }

    /// The reason why a form is refused; nil when it is good.
    ///
    /// `now` is in unix seconds.
    package func refusal(ofForm body: [UInt8], now: Int64) -> Refusal? {
        let form = Self.form(body)
        guard form["grant_type"] == Self.grantType else {
            return Refusal(
                error: "unsupported_grant_type",
                description: "Invalid grant_type: \(form["grant_type"] ?? "")"
            )
        }
        guard let token = SignedToken((form["assertion"] ?? "").utf8) else {
            return Refusal(error: "invalid_grant", description: "Bad Request")
        }
        guard token.isSigned(by: key) else {
            return Refusal(error: "invalid_grant", description: "Invalid JWT Signature.")
        }
        return refusal(ofClaims: token.claims.root, now: now)
    }

    private func refusal(ofClaims claims: JSONValue, now: Int64) -> Refusal? {
        guard claims["iss"]?.string == clientEmail else {
            return Refusal(error: "invalid_grant", description: "Invalid grant: account not found")
        }
        guard claims["aud"]?.string == audience else {
            return Refusal(error: "invalid_grant", description: "Invalid JWT: Failed audience check.")
        }
        guard claims["scope"]?.string?.split(separator: " ").contains(where: { $0 == Self.scope }) == true else {
            return Refusal(error: "invalid_scope", description: "Invalid OAuth scope or ID token audience provided.")
        }
        guard let issued = claims["iat"]?.integer, let expires = claims["exp"]?.integer,
            issued <= now + Self.maximumSkewSeconds, expires > now, expires - issued <= Self.maximumLifeSeconds
        else {
            let description =
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
            return Refusal(error: "invalid_grant", description: description)
        }
        return nil
    }

    /// The fields of `application/x-www-form-urlencoded` (WHATWG URL, section 5).
    static func form(_ body: [UInt8]) -> [String: String] {
        var fields: [String: String] = [:]
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            fields[decoded(parts[0])] = decoded(parts[1])
        }
        return fields
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2
                else {
                    bytes.append(byte)
                    continue
                }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default:
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
