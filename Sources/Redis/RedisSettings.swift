package import Transport

/// Where Redis is and how to log in; made from a URL.
///
/// `redis://` and `rediss://` (TLS) lead to a host: `redis://user:password@host:6379/0`. `unix://` leads to a socket:
/// `unix:///run/redis.sock?db=0`, with `user:password@` before the path if needed. User and password may have
/// `%` escapes; without a user, the default one is meant.
package struct RedisSettings: Sendable {
    package let endpoint: Endpoint
    package let user: String?
    package let password: String?
    /// Pub/sub knows no databases: messages are heard whatever the number.
    package let database: Int
    package let tls: TLSClientContext?

    /// From a URL; `extraCA` are further trusted certificates (PEM) for `rediss://`.
    package init(url: String, extraCA: [UInt8]? = nil) throws(RedisError) {
        let parts = try RedisURL(url)
        endpoint = parts.endpoint
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
        switch endpoint {
        case .tcp: "\(tls == nil ? "redis" : "rediss")://\(endpoint)"
        case .unix(let path): "unix://\(path)"
        }
    }
}
