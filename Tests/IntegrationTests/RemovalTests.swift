import Encoding
import Redis
import TestSupport
import Testing
import Transport
import Worker

/// Removed registrations: what stops them, and how they come back.
@Suite("Removing devices, and bringing them back", .serialized, .timeLimit(.minutes(5)))
struct RemovalTests {
    private static func token(_ number: Int, _ prefix: String) -> String {
        let digits = String(number, radix: 16)
        return prefix + String(repeating: "0", count: 62 - digits.count) + digits
    }

    private func register(_ count: Int, _ prefix: String, on channel: String, _ scene: AnswerScene) async throws {
        for start in stride(from: 0, to: count, by: 1000) {
            let tokens = (start..<min(start + 1000, count)).map { Self.token($0, prefix) }
            let words: [any RedisArgument] = ["push:{\(channel)}:\(scene.suffix(.apns))"] + tokens
            try await scene.redis.call(RedisCommand("SADD", words))
        }
    }

    @Test("The wrong environment removes few of 10,000 devices, all come back, and the log says why")
    func wrongEnvironment() async throws {
        let scene = try await AnswerScene()
        try await register(300, "aa", on: "good", scene)
        let good = try await scene.traces("completed", of: scene.publish(.apns, on: "good"))
        #expect(good.first?["sent"]?.integer == 300)
        try await register(10_000, "bb", on: "wrong", scene)
        try await scene.setScript(#"[{"status":400,"reason":"BadDeviceToken"}]"#)
        let id = try await scene.publish(.apns, on: "wrong")
        let end = try await scene.traces("completed", of: id).first
        let removed = end?["removed"]?.integer ?? -1
        #expect((1..<100).contains(removed))
        #expect(end?["errored"]?.integer == 10_000 - removed)
        let key = "push:{wrong}:\(scene.suffix(.apns))"
        #expect(try await scene.redis.call("SCARD", key) == .integer(10_000 - removed))
        #expect(scene.hasLogged("wrong environment or topic?"))
        #expect(try await scene.notices().contains { $0.contains("wrong environment or topic?") })
        let errors = try await scene.traces("error", of: id)
        #expect(errors.contains { $0["text"]?.string?.contains("wrong environment or topic?") == true })

        let store = QuarantineStore(client: scene.redis, keys: RedisKeys(prefix: "push:"))
        var filter = QuarantineStore.Filter()
        filter.reason = "BadDeviceToken"
        var listed = 0
        try await store.forEachPage(filter) { page in
            listed += page.count
            try await store.restore(page)
        }
        #expect(listed == Int(removed))
        #expect(try await scene.redis.call("SCARD", key) == .integer(10_000))
        #expect(try await scene.redis.call("XLEN", "push:{events}:quarantine") == .integer(0))
        try await scene.close()
    }

    @Test("A removal is logged with a shortened token, counted, and told in a stream if wanted")
    func event() async throws {
        let scene = try await AnswerScene(["PUSHBRIDGE_REMOVED_EVENTS": "1000"])
        let token = Self.token(7, "cc")
        try await scene.register(token, .apns, on: "a", at: 1000)
        try await scene.register(token, .apns, on: "b", at: 2000)
        try await scene.setScript(#"[{"status":410,"reason":"Unregistered"}]"#)
        let id = try await scene.publish(.apns, on: "a")
        #expect(try await scene.traces("removed", of: id).count == 1)
        _ = try await scene.traces("completed", of: id)
        #expect(scene.hasLogged("a registration was removed"))
        #expect(!scene.hasLogged(token))
        let event = try await scene.redis.call("XRANGE", "push:{events}:removed", "-", "+")[0]?[1]
        let words = event?.elements?.compactMap(\.text) ?? []
        for (name, value) in [("device", token), ("channel", "a"), ("reason", "Unregistered"), ("id", id)] {
            let place = try #require(words.firstIndex(of: name))
            #expect(words[place + 1] == value)
        }
        // Both channels come back with the times that they had.
        let store = QuarantineStore(client: scene.redis, keys: RedisKeys(prefix: "push:"))
        try await store.forEachPage(QuarantineStore.Filter()) { page in
            #expect(page.map(\.channels.count) == [2])
            #expect(page.first?.reason == "Unregistered" && page.first?.status == 410)
            try await store.restore(page)
        }
        let times = try await scene.redis.call(
            "ZRANGE",
            "push:device:{\(token)}:\(scene.suffix(.apns))",
            0,
            -1,
            "WITHSCORES"
        )
        #expect(times.elements?.compactMap(\.text) == ["a", "1000", "b", "2000"])
        #expect(try await scene.isRegistered(token, .apns, on: "b"))
        try await scene.close()
    }
}
