import Encoding
import Redis
import TestSupport
import Testing
import Transport
import Worker

@testable import pushbridge

@Suite("Which removed devices are meant")
struct QuarantineOptionsTests {
    @Test(
        "A time is an age, or a date",
        arguments: [
            ("90m", 1_764_494_600_000), ("24h", 1_764_413_600_000), ("7d", 1_763_895_200_000),
            ("0s", 1_764_500_000_000),
            ("2025-11-30T10:00Z", 1_764_496_800_000),
        ] as [(String, Int64)]
    )
    func since(text: String, time: Int64) throws {
        let arguments = try Arguments(["--since", text], for: DevicesRemovedCommand.specification)
        #expect(try QuarantineOptions.filter(arguments, now: 1_764_500_000_000).since == time)
    }

    @Test("Anything else is refused", arguments: ["soon", "-5m", "5 minutes", "", "99999999999999999999d"])
    func unreadable(text: String) throws {
        let arguments = try Arguments(["--since=\(text)"], for: DevicesRemovedCommand.specification)
        #expect(throws: UsageError.self) { try QuarantineOptions.filter(arguments, now: 0) }
    }
}

/// Runs the built program as a person does.
@Suite("Removed devices against a real Redis", .redisServer, .timeLimit(.minutes(1)))
struct QuarantineCommandTests {
    /// Entries as the worker writes them.
    private func fill(_ prefix: String) async throws -> RedisClient {
        let client = try await RedisServer.current().client()
        let now = currentUnixMilliseconds()
        let key = "\(prefix){events}:quarantine"
        let old = now - 31 * 86_400_000
        let entries: [(Int64, String, String, String, [any RedisArgument])] = [
            (old, ":fcm", "old", "UNREGISTERED", ["channel", "a", "registered", 5]),
            (
                now - 7_200_000, ":apns:production:com.x", "AB12", "BadDeviceToken",
                [
                    "channel", "a", "registered", 100, "channel", "b", "registered", -1,
                ]
            ),
            (now - 60_000, ":fcm", "f:1", "UNREGISTERED", ["channel", "a", "registered", 7]),
        ]
        for (time, kind, token, reason, channels) in entries {
            let words: [any RedisArgument] =
                [key, "\(time)-0", "kind", kind, "token", token, "reason", reason, "status", 410] + channels
            try await client.call(RedisCommand("XADD", words))
        }
        return client
    }

    @Test("They are listed without those that are too old, by token, reason, time and registry")
    func listed() async throws {
        let client = try await fill("list:")
        defer { client.close() }
        let runner = try Runner(prefix: "list:")
        let all = try await runner.run(["devices", "removed", "--json"])
        #expect(all.code == 0)
        let lines = all.text.split(separator: "\n").compactMap { try? JSONDocument(Array($0.utf8)).root }
        #expect(lines.map { $0["token"]?.string } == ["AB12", "f:1"])
        #expect(lines[0]["channels"]?[0]?["registered"]?.integer == 100)
        #expect(lines[0]["channels"]?[1]?["channel"]?.string == "b" && lines[0]["channels"]?[1]?["registered"] == nil)
        #expect(lines[0]["reason"]?.string == "BadDeviceToken" && lines[0]["status"]?.integer == 410)
        for (options, token) in [
            (["ab12"], "AB12"), (["--reason", "unregistered"], "f:1"), (["--since", "10m"], "f:1"), (["--fcm"], "f:1"),
            (["--topic", "com.x", "--environment", "production"], "AB12"),
        ] {
            let text = try await runner.run(["devices", "removed"] + options).text
            #expect(text.split(separator: "\n").count == 1 && text.contains(token), "\(options)")
        }
        let none = try await runner.run(["devices", "removed", "cdef"])
        #expect(none.code == 0 && none.text == "no device was removed\n")
    }

    @Test("They are registered again as they were, and newer registrations stay")
    func restored() async throws {
        let client = try await fill("back:")
        defer { client.close() }
        let suffix = "apns:production:com.x"
        try await client.call("ZADD", "back:device:{ab12}:\(suffix)", 900, "a")
        let runner = try Runner(prefix: "back:")
        let back = try await runner.run(["devices", "restore", "AB12"])
        #expect(back.code == 0 && back.text == "1 device is registered again\n")
        #expect(try await client.call("SISMEMBER", "back:{a}:\(suffix)", "AB12") == .integer(1))
        #expect(try await client.call("SISMEMBER", "back:{b}:\(suffix)", "AB12") == .integer(1))
        let times = try await client.call("ZRANGE", "back:device:{ab12}:\(suffix)", 0, -1, "WITHSCORES")
        #expect(times.elements?.compactMap(\.text) == ["a", "900"])
        #expect(try await runner.run(["devices", "restore", "AB12"]).code == 1)
        let rest = try await runner.run(["devices", "restore", "--all", "--json"])
        #expect(rest.code == 0 && rest.text.contains(#""token":"f:1""#))
        #expect(try await client.call("ZSCORE", "back:device:{f:1}:fcm", "a").text == "7")
        #expect(try await client.call("SISMEMBER", "back:{a}:fcm", "old") == .integer(0))
    }

    @Test("What is meant must be said", arguments: [[], ["--all", "ab12"], ["--all", "--since", "1h"]])
    func ambiguous(options: [String]) async throws {
        let runner = try Runner(prefix: "what:")
        #expect(try await runner.run(["devices", "restore"] + options).code == 2)
    }
}
