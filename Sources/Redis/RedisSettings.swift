package import Transport

/// Where Redis is and how to log in; made from a URL.
///
/// `redis://` and `rediss://` (TLS) lead to a host: `redis://user:password@host:6379/0`. `unix://` leads to a socket:
/// `unix:///run/redis.sock?db=0`, with `user:password@` before the path if needed. `redis+sentinel://` and
/// `rediss+sentinel://` lead to sentinels, who are asked for the primary at each connect:
/// `redis+sentinel://user:password@host:26379,host/name/0`. User and password may have `%` escapes; without a user, the
/// default one is meant.
package struct RedisSettings: Sendable {
    /// Who knows where the primary is.
    package struct Sentinels: Equatable, Sendable {
        package let endpoints: [Endpoint]
        /// What the sentinels call it.
        package let name: String
    }

    /// Where Redis is, or the first sentinel.
    package let endpoint: Endpoint
    /// Nil: Redis is at ``endpoint``.
    ///
    /// User, password and TLS are for the sentinels too.
    package let sentinels: Sentinels?
    package let user: String?
    package let password: String?
    /// Pub/sub knows no databases: messages are heard whatever the number.
    package let database: Int
    package let tls: TLSClientContext?

    /// From a URL; `extraCA` are further trusted certificates (PEM) for `rediss://`.
    package init(url: String, extraCA: [UInt8]? = nil) throws(RedisError) {
        let parts = try RedisURL(url)
        endpoint = parts.endpoint
        sentinels = parts.sentinels
        user = parts.user
        password = parts.password
        database = parts.database
        guard parts.usesTLS else {
            tls = nil
            return
        }
        do {
            tls = try TLSClientContext(extraCA: extraCA)
        } catch {
            throw .settings("TLS to Redis cannot be set up: \(error)")
        }
    }
}

extension RedisSettings: CustomStringConvertible {
    /// The address without user and password.
    package var description: String {
        if let sentinels {
            let hosts = sentinels.endpoints.map(\.description).joined(separator: ",")
            return "\(tls == nil ? "redis" : "rediss")+sentinel://\(hosts)/\(sentinels.name)"
        }
        return switch endpoint {
        case .tcp: "\(tls == nil ? "redis" : "rediss")://\(endpoint)"
        case .unix(let path): "unix://\(path)"
        }
    }
}
