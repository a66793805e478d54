import Redis
import TestSupport
import Testing

@testable import Worker

@Suite("Removing what a provider calls dead", .redisServer, .timeLimit(.minutes(1)))
struct DeadRegistrationsTests {
    static let app = RegistrationKind.apns(environment: .production, topic: "com.example.app")
    static let suffix = "apns:production:com.example.app"

    @Test("Without a time, a device loses every channel of its registry, and keeps those of others")
    func everywhere() async throws {
        let world = try await World("all:")
        try await world.register("ab", ["a": 100, "b": 200])
        try await world.client.call("SADD", "all:{a}:fcm", "ab")
        #expect(try await world.remove("ab", on: "a", deadSince: nil) == "removed")
        #expect(try await world.members("a").isEmpty)
        #expect(try await world.members("b").isEmpty)
        #expect(try await world.client.call("EXISTS", "all:device:{ab}:\(Self.suffix)") == .integer(0))
        #expect(try await world.client.call("SCARD", "all:{a}:fcm") == .integer(1))
    }

    @Test(
        "With a time, only registrations before it are removed",
        arguments: [
            (100, "removed", ["b"]), (101, "removed", ["b"]), (200, "kept", ["a", "b"]),
        ] as [(Int64, String, [String])]
    )
    func since(registeredOnA: Int64, result: String, left: [String]) async throws {
        let world = try await World("since\(registeredOnA):")
        try await world.register("ab", ["a": registeredOnA, "b": 300, "c": 50])
        #expect(try await world.remove("ab", on: "a", deadSince: 200) == result)
        for channel in ["a", "b", "c"] {
            #expect(try await world.members(channel) == (left.contains(channel) ? ["ab"] : []))
        }
        let listed = try await world.client.call("ZRANGE", "\(world.prefix)device:{ab}:\(Self.suffix)", 0, -1)
        #expect(listed.elements?.compactMap(\.text).sorted() == left)
    }

    @Test("A token that another program put there, without a time, is removed, in the spelling that it has")
    func unknown() async throws {
        let world = try await World("unknown:")
        try await world.client.call("SADD", "unknown:{a}:\(Self.suffix)", "AB", "cd")
        #expect(try await world.remove("AB", on: "a", deadSince: 1) == "removed")
        #expect(try await world.members("a") == ["cd"])
    }

    @Test("A device that registers again in between stays, in the set and in its key", arguments: [nil, 250])
    func again(deadSince: Int64?) async throws {
        let world = try await World("again\(deadSince ?? 0):")
        try await world.register("ab", ["a": 100])
        let key = "\(world.prefix)device:{ab}:\(Self.suffix)"
        let result = try await world.remove("ab", on: "a", deadSince: deadSince) { connection in
            // Reaches Redis after the registration was read, and before it is removed.
            connection.send(RedisCommand("ZADD", [key, 300, "a"])) { _ in }
            connection.send(RedisCommand("SADD", ["\(world.prefix){a}:\(Self.suffix)", "ab"])) { _ in }
        }
        #expect(result == "kept")
        #expect(try await world.members("a") == ["ab"])
        #expect(try await world.client.call("ZSCORE", key, "a").text == "300")
    }

    @Test("Twice is as good as once")
    func twice() async throws {
        let world = try await World("twice:")
        try await world.register("ab", ["a": 100])
        #expect(try await world.remove("ab", on: "a", deadSince: 200) == "removed")
        #expect(try await world.remove("ab", on: "a", deadSince: 200) == "removed")
        try await world.register("ab", ["a": 300])
        #expect(try await world.remove("ab", on: "a", deadSince: 200) == "kept")
        #expect(try await world.members("a") == ["ab"])
    }

    @Test("An error of Redis is told, and nothing is lost")
    func failed() async throws {
        let world = try await World("failed:")
        try await world.client.call("SADD", "failed:{a}:\(Self.suffix)", "ab")
        try await world.client.call("SET", "failed:device:{ab}:\(Self.suffix)", "no sorted set")
        #expect(try await world.remove("ab", on: "a", deadSince: nil).hasPrefix("failed"))
        #expect(try await world.members("a") == ["ab"])
    }

    @Test("What was removed is in quarantine first, with times and reason, for 30 days; what stays is not")
    func quarantined() async throws {
        let world = try await World("kept:")
        try await world.register("ab", ["a": 100, "b": 150, "c": 900])
        #expect(try await world.remove("ab", on: "a", deadSince: 200) == "removed")
        let entry = try await world.client.call("XRANGE", "kept:{events}:quarantine", "-", "+")[0]
        let device = try #require(entry.flatMap { QuarantinedDevice($0) })
        #expect(device.kind == Self.app && device.token == Array("ab".utf8))
        #expect(device.reason == "Unregistered" && device.status == 410)
        #expect(device.channels.map { String(decoding: $0.name, as: UTF8.self) } == ["a", "b"])
        #expect(device.channels.map(\.registered) == [100, 150])
        let left = try await world.client.call("PTTL", "kept:{events}:quarantine").integer ?? 0
        #expect(left > 29 * 86_400_000 && left <= 30 * 86_400_000)
        #expect(try await world.remove("ab", on: "c", deadSince: 200) == "kept")
        #expect(try await world.client.call("XLEN", "kept:{events}:quarantine") == .integer(1))
    }

    @Test("A device with more channels than fit in one entry has several")
    func manyChannels() async throws {
        let world = try await World("many:")
        let channels = (0..<1200).map { "c\($0)" }
        try await world.register("ab", Dictionary(uniqueKeysWithValues: channels.map { ($0, 1) }))
        #expect(try await world.remove("ab", on: "c7", deadSince: nil) == "removed")
        #expect(try await world.client.call("XLEN", "many:{events}:quarantine") == .integer(3))
    }

    @Test("The quarantine is bounded in number and in time")
    func bounded() async throws {
        let world = try await World("bound:")
        let key = "bound:{events}:quarantine"
        for number in 1...300 { try await world.client.call("XADD", key, "\(number)-0", "token", "old") }
        try await world.register("ab", ["a": 100])
        #expect(try await world.remove("ab", on: "a", deadSince: nil) == "removed")
        // Whole nodes of a hundred entries go.
        #expect(try await world.client.call("XLEN", key).integer ?? 999 <= 101)
    }

    /// The suite's Redis with keys of its own.
    final class World: Sendable {
        let client: RedisClient
        let prefix: String

        init(_ prefix: String) async throws {
            client = try await RedisServer.current().client()
            self.prefix = prefix
        }

        deinit {
            client.close()
        }

        /// Registers with given times.
        func register(_ token: String, _ times: [String: Int64]) async throws {
            for (channel, time) in times {
                try await client.call("ZADD", "\(prefix)device:{\(token)}:\(suffix)", time, channel)
                try await client.call("SADD", "\(prefix){\(channel)}:\(suffix)", token)
            }
        }

        func members(_ channel: String) async throws -> [String] {
            try await client.call("SMEMBERS", "\(prefix){\(channel)}:\(suffix)").elements?.compactMap(\.text) ?? []
        }

        /// Removes and answers the result's name; `meanwhile` sends commands directly after the first one.
        func remove(
            _ member: String,
            on channel: String,
            deadSince: Int64?,
            meanwhile: @escaping @Sendable (RedisConnection) -> Void = { _ in }
        ) async throws -> String {
            let keys = RedisKeys(prefix: prefix)
            return try await client.withConnection { connection, done in
                let registrations = DeadRegistrations(redis: connection, keys: keys)
                registrations.remove(
                    member: Array(member.utf8),
                    kind: app,
                    channel: Array(channel.utf8),
                    deadSince: deadSince,
                    cause: Quarantine.Cause(reason: "Unregistered", status: 410)
                ) { done(.success("\($0)")) }
                meanwhile(connection)
            }
        }
    }
}
