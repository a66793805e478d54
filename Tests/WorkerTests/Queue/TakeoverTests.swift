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

@Suite("Entries of workers that died", .redisServer, .timeLimit(.minutes(1)))
struct TakeoverScriptTests {
    /// Entries of a worker that is gone, each with how often it was given; answers their ids.
    private func leave(_ deliveries: [Int], in key: String, _ client: RedisClient) async throws -> [String] {
        try await client.call("XGROUP", "CREATE", key, "pushbridge", "0", "MKSTREAM")
        var entries: [String] = []
        for count in deliveries {
            let entry = try await client.call("XADD", key, "*", "channel", "c", "message", "{}").text ?? ""
            try await client.call("XREADGROUP", "GROUP", "pushbridge", "gone", "STREAMS", key, ">")
            try await client.call(
                "XCLAIM",
                key,
                "pushbridge",
                "gone",
                0,
                entry,
                "IDLE",
                60_000,
                "RETRYCOUNT",
                count,
                "JUSTID"
            )
            entries.append(entry)
        }
        return entries
    }

    private func run(_ script: RedisScript, _ key: String, _ arguments: [String], _ client: RedisClient) async throws
        -> RESPValue
    {
        try await client.call(
            script.command(keys: [Array(key.utf8)], arguments: (["pushbridge"] + arguments).map { Array($0.utf8) })
        )
    }

    /// Each pending entry as `id owner deliveries`.
    private func pending(_ key: String, _ client: RedisClient) async throws -> [String] {
        let reply = try await client.call("XPENDING", key, "pushbridge", "-", "+", 5000)
        return (reply.elements ?? []).map { item in
            [0, 1, 3].map { item[$0]?.text ?? "\(item[$0]?.integer ?? -1)" }.joined(separator: " ")
        }
    }

    @Test("Only so many are taken, of suspects only so many, and the count of deliveries stays as it was")
    func claims() async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let key = "claim:{queue}:messages"
        let entries = try await leave([2, 3, 1, 0, 2, 1], in: key, client)
        let first = try await run(TakeoverScripts.claim, key, ["new", "5000", "3", "1"], client)
        #expect(first.elements?.map { $0[0]?[0]?.text } == [entries[0], entries[2], entries[3]])
        #expect(first.elements?.map { $0[1]?.integer } == [2, 1, 0])
        let second = try await run(TakeoverScripts.claim, key, ["new", "5000", "100", "0"], client)
        #expect(second.elements?.map { $0[0]?[0]?.text } == [entries[5]])
        #expect(
            try await pending(key, client)
                == zip(entries, ["new 2", "gone 3", "new 1", "new 0", "gone 2", "new 1"]).map { "\($0) \($1)" }
        )
    }

    @Test("More than a thousand suspects do not hide those behind them")
    func hidden() async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let key = "hidden:{queue}:messages"
        let entries = try await leave(Array(repeating: 2, count: 1200) + [1], in: key, client)
        let claimed = try await run(TakeoverScripts.claim, key, ["new", "5000", "10", "0"], client)
        #expect(claimed.elements?.map { $0[0]?[0]?.text } == [entries[1200]])
    }

    @Test("What lives is not taken, and what is gone from the stream neither")
    func alive() async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let key = "alive:{queue}:messages"
        let entries = try await leave([1, 1], in: key, client)
        #expect(try await run(TakeoverScripts.touch, key, ["gone", "0", "", entries[0]], client) == .array([]))
        try await client.call("XDEL", key, entries[1])
        #expect(try await run(TakeoverScripts.claim, key, ["new", "5000", "10", "1"], client) == .array([]))
    }

    @Test("A sign of life names what is lost, and gives the count that it is told to", arguments: [nil, 0, 4])
    func touches(deliveries: Int?) async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let key = "touch\(deliveries ?? -1):{queue}:messages"
        let entries = try await leave([2, 2, 2], in: key, client)
        try await client.call("XCLAIM", key, "pushbridge", "other", 0, entries[1], "JUSTID")
        try await client.call("XACK", key, "pushbridge", entries[2])
        let count = deliveries.map { "\($0)" } ?? ""
        let lost = try await run(TakeoverScripts.touch, key, ["gone", "0", count] + entries, client)
        #expect(lost.elements?.compactMap(\.text) == [entries[1], entries[2]])
        #expect(try await pending(key, client)[0] == "\(entries[0]) gone \(deliveries ?? 2)")
    }
}
