import Redis
import TestSupport
import Testing

@testable import Worker

@Suite("Registrations in a real Redis", .redisServer, .timeLimit(.minutes(1)))
struct RegistrationStoreTests {
    static let app = RegistrationKind.apns(environment: .production, topic: "com.example.app")

    @Test("Adding writes the channel's set and the device's key; again is no change but the time")
    func add() async throws {
        try await withStore("add:") { store, client in
            let before = try await client.call("TIME")[0]?.integer ?? 0
            let first = try await store.add([0x61], Self.app, to: [[0x31], [0x32]])
            #expect(first.map(\.isChanged) == [true, true])
            let second = try await store.add([0x61], Self.app, to: [[0x32], [0x33]])
            #expect(second.map(\.isChanged) == [false, true])
            #expect(try await client.call("SMEMBERS", "add:{1}:apns:production:com.example.app")[0]?.text == "a")
            let listed = try await store.channels(of: [0x61], Self.app)
            #expect(listed.map(\.channel) == [[0x31], [0x32], [0x33]])
            #expect(listed.allSatisfy { $0.registered >= before * 1000 && $0.registered < (before + 60) * 1000 })
        }
    }

    @Test("Removing takes a token out in any spelling, also where another program put it")
    func remove() async throws {
        try await withStore("remove:") { store, client in
            _ = try await store.add([0x61], Self.app, to: [[0x31]])
            try await client.call("SADD", "remove:{2}:apns:production:com.example.app", "A", "b")
            let changes = try await store.remove([0x41], Self.app, from: [[0x31], [0x32], [0x33]])
            #expect(changes.map(\.isChanged) == [true, true, false])
            #expect(try await client.call("SMEMBERS", "remove:{2}:apns:production:com.example.app")[0]?.text == "b")
            #expect(try await store.channels(of: [0x61], Self.app).isEmpty)
            #expect(try await client.call("EXISTS", "remove:device:{a}:apns:production:com.example.app") == .integer(0))
        }
    }

    @Test("A token's kinds are found, whatever their topics, and those of similar keys are not")
    func kindsOfToken() async throws {
        try await withStore("kinds:*[a]?") { store, client in
            let token = Array("00ff".utf8)
            let kinds = [Self.app, .apns(environment: .development, topic: "other"), .apnsLegacy, .fcm].sorted()
            for kind in kinds { _ = try await store.add(token, kind, to: [[0x31]]) }
            _ = try await store.add(Array("00ff00".utf8), Self.app, to: [[0x31]])
            try await client.call("SET", "kinds:xa?device:{00ff}:apns:production:not.ours", "x")
            #expect(try await store.kinds(of: token) == kinds)
            // In upper case it is the same APNs token, but another FCM token.
            #expect(try await store.kinds(of: Array("00FF".utf8)) == kinds)
            #expect(try await store.kinds(of: Array("00fe".utf8)).isEmpty)
            #expect(try await store.kinds(of: Array("fcm:token".utf8)).isEmpty)
            _ = try await store.add(Array("fcm:token".utf8), .fcm, to: [[0x31]])
            #expect(try await store.kinds(of: Array("fcm:token".utf8)) == [.fcm])
        }
    }

    @Test(
        "A channel's kinds are found, whatever its name",
        arguments: ["plain", "with space", "br{ace}s", "sta*r", "a\\b", "[x]", "\u{1F600}", "nul\u{0}"]
    )
    func kindsOnChannel(name: String) async throws {
        try await withStore("on:") { store, _ in
            let channel = Array(name.utf8)
            _ = try await store.add([0x61], Self.app, to: [channel, channel + [0x78], [0x78] + channel])
            _ = try await store.add([0x61], .fcm, to: [channel])
            _ = try await store.add([0x61], .apnsLegacy, to: [[0x78]])
            #expect(try await store.kinds(on: channel) == [Self.app, .fcm])
        }
    }

    @Test("Replacing moves all channels to the new token, and does nothing the second time")
    func replace() async throws {
        try await withStore("replace:") { store, client in
            _ = try await store.add([0x61], .fcm, to: [[0x31], [0x32]])
            _ = try await store.add([0x62], .fcm, to: [[0x32], [0x33]])
            #expect(try await store.replace([0x61], by: [0x62], .fcm) == [[0x31], [0x32]])
            #expect(try await store.replace([0x61], by: [0x62], .fcm).isEmpty)
            #expect(try await store.channels(of: [0x62], .fcm).map(\.channel) == [[0x31], [0x32], [0x33]])
            #expect(try await store.channels(of: [0x61], .fcm).isEmpty)
            for channel in ["1", "2", "3"] {
                #expect(try await client.call("SMEMBERS", "replace:{\(channel)}:fcm") == .array([.bulk([0x62])]))
            }
            #expect(try await store.replace([0x62], by: [0x62], .fcm) == [[0x31], [0x32], [0x33]])
            #expect(try await store.channels(of: [0x62], .fcm).count == 3)
        }
    }

    @Test("A large set is walked page by page, each token once, and the walk may end early")
    func pages() async throws {
        try await withStore("pages:") { store, client in
            let tokens = (0..<5000).map { Array("token-\($0)".utf8) }
            try await client.call(RedisCommand("SADD", ["pages:{c}:fcm"] + tokens))
            var walked: [[UInt8]] = []
            var pageCount = 0
            try await store.forEachPage(on: [0x63], .fcm) { page in
                walked += page
                pageCount += 1
                return true
            }
            #expect(walked.count == 5000)
            #expect(Set(walked) == Set(tokens))
            #expect(pageCount > 1)
            #expect(try await store.count(on: [0x63], .fcm) == 5000)
            pageCount = 0
            try await store.forEachPage(on: [0x63], .fcm) { _ in
                pageCount += 1
                return false
            }
            #expect(pageCount == 1)
        }
    }

    @Test("Redis' own errors are told")
    func wrongType() async throws {
        try await withStore("wrong:") { store, client in
            try await client.call("SET", "wrong:{c}:fcm", "x")
            let error = await #expect(throws: RedisError.self) { try await store.add([0x61], .fcm, to: [[0x63]]) }
            #expect(error?.code == "WRONGTYPE")
        }
    }

    private func withStore(
        _ prefix: String,
        _ body: (RegistrationStore, RedisClient) async throws -> Void
    ) async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        try await body(RegistrationStore(client: client, keys: RedisKeys(prefix: prefix)), client)
    }
}
