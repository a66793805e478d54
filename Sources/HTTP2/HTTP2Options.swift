package import Transport

/// How a pool behaves towards its provider.
package struct HTTP2Options: Sendable {
    /// The proxy that leads to the provider.
    package var proxy: HTTPProxy?
    /// Streams on a connection before its credential is proven by a first answer; nil: what SETTINGS allow, at once.
    ///
    /// APNs with tokens: 1 (Apple: Sending notification requests to APNs).
    package var unprovenStreamLimit: Int?
    /// The most streams on one connection, whatever more SETTINGS allow.
    package var streamLimit = 1000
    package var maximumConnections = 8
    /// Covers name resolution, TCP and TLS.
    package var connectDeadline: Duration = .seconds(10)
    /// From the TLS handshake to the peer's first SETTINGS.
    package var settingsDeadline: Duration = .seconds(10)
    /// From the submission of a request to the end of its answer.
    package var answerDeadline: Duration = .seconds(30)
    /// Silence after which the peer is asked for a sign of life; nil for peers that punish PINGs, such as Google's.
    package var pingInterval: Duration?
    /// Silence with requests open after which the connection takes no more of them, and a PING does not wait for
    /// `pingInterval`.
    package var silenceLimit: Duration = .seconds(5)
    /// How long the peer may take to answer a PING.
    package var pingDeadline: Duration = .seconds(5)
    /// See `ByteStream.staleness`.
    package var staleness: Duration?
    /// How long all connections must be full before another is opened.
    package var growthDelay: Duration = .milliseconds(10)
    /// How long a connection beside others must be unused before it is closed.
    package var idleLifetime: Duration = .seconds(600)
    /// The pause after the first failed attempt to connect; doubled with each further one, with jitter.
    package var firstPause: Duration = .milliseconds(500)
    package var longestPause: Duration = .seconds(60)
    /// Whether the headers of answers with status 200 are kept too.
    package var keepsAllHeaders = false

    package init() {}
}

/// What happens to a pool's connections, for logs and readiness.
package enum HTTP2PoolEvent: Equatable, Sendable {
    /// Ready for requests: the peer's first SETTINGS are here, with the number of streams that they allow.
    case connected(streams: Int)
    case connectFailed(reason: String, nextAttemptAfter: Duration)
    case goAway(HTTP2GoAway)
    /// With requests open nothing has come for `silenceLimit`, or no first answer: other connections are used.
    case silent
    /// The end of a connection that was ready.
    case closed(reason: String)
}
