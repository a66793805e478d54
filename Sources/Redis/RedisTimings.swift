/// How long things may take on a connection to Redis.
package struct RedisTimings: Sendable {
    /// Name resolution, TCP, TLS; and again for the login.
    package var connectDeadline: Duration = .seconds(5)
    /// From the attempt to connect to a sentinel to its answer.
    package var sentinelDeadline: Duration = .seconds(1)
    /// From a command's turn to its reply, or to any sign of life from a subscription that was asked for one.
    package var replyDeadline: Duration = .seconds(5)
    /// Silence after which a connection is asked for a sign of life.
    package var idleInterval: Duration = .seconds(5)
    /// A connection that lasted longer than this was a good one: the back-off begins anew after it.
    package var stableAfter: Duration = .seconds(5)
    package var firstDelay: Duration = .milliseconds(100)
    package var maximumDelay: Duration = .seconds(5)

    package init() {}

    /// How often a connection looks at the time.
    var tick: Duration { max(min(replyDeadline, idleInterval, .seconds(4)) / 4, .milliseconds(10)) }
}
