package import Testing

/// Gives a suite one redis-server of its own: ``RedisServer/current``.
package struct RedisServerTrait: SuiteTrait, TestScoping {
    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let server = try await RedisServer()
        try await RedisServer.$shared.withValue(server) { try await function() }
    }
}

extension Trait where Self == RedisServerTrait {
    /// One redis-server for all tests of the suite.
    package static var redisServer: RedisServerTrait { RedisServerTrait() }
}

extension RedisServer {
    @TaskLocal fileprivate static var shared: RedisServer?

    /// The server of the suite at hand.
    package static func current() throws -> RedisServer {
        try #require(shared, "the suite needs the trait .redisServer")
    }
}
