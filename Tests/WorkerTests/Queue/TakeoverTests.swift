import Redis
import TestSupport
import Testing

@testable import Worker

@Suite("Consumers of workers that are gone", .redisServer, .timeLimit(.minutes(1)))
struct TakeoverTests {
    @Test(
        "Those without entries are forgotten; one's own, and those with entries, stay",
        arguments: [(-1, 1), (600_000, 0)]
    )
    func forgets(idleLimit: Int, expected: Int64) async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let key = "takeover\(idleLimit):{queue}:messages"
        try await client.call("XGROUP", "CREATE", key, "pushbridge", "0", "MKSTREAM")
        for consumer in ["own", "gone"] {
            try await client.call("XGROUP", "CREATECONSUMER", key, "pushbridge", consumer)
        }
        try await client.call("XADD", key, "*", "channel", "c", "message", "{}")
        try await client.call("XREADGROUP", "GROUP", "pushbridge", "busy", "STREAMS", key, ">")
        let command = TakeoverScripts.forgetConsumers.command(
            keys: [Array(key.utf8)],
            arguments: ["pushbridge", "own", "\(idleLimit)"].map { Array($0.utf8) }
        )
        #expect(try await client.call(command) == .integer(expected))
        let left = try await client.call("XINFO", "CONSUMERS", key, "pushbridge").elements?.compactMap { $0[1]?.text }
        #expect(left?.contains("own") == true)
        #expect(left?.contains("busy") == true)
        #expect(left?.contains("gone") == (expected == 0))
    }
}
