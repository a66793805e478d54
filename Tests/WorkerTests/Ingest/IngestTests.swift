import Redis
import TestSupport
import Testing
import Transport

@testable import Worker

@Suite("Ingest of several replicas on a real Redis", .timeLimit(.minutes(2)))
struct IngestTests {
    private func replicas(_ count: Int, _ server: RedisServer, channels: String = "*") async throws -> [RunningIngest] {
        var replicas: [RunningIngest] = []
        for _ in 0..<count { replicas.append(try await RunningIngest(server, channels: channels)) }
        for replica in replicas { try await replica.listens() }
        return replicas
    }

    private func holder(of replicas: [RunningIngest]) async throws -> RunningIngest {
        for replica in replicas {
            if try await replica.ask(\.isHolder) == true { return replica }
        }
        throw TookTooLong(description: "nobody holds the lease")
    }

    /// Each number once, in whatever order.
    private func expectOnce(_ numbers: Range<Int>, in inbox: Inbox) async throws {
        let messages = try await inbox.messages()
        #expect(messages.sorted() == numbers.map(Inbox.message).sorted())
    }

    @Test("A thousand equal messages are a thousand entries, each with an id of its own", arguments: ["*", "*,ch*"])
    func equalMessages(channels: String) async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let client = inbox.client
        let replicas = try await replicas(3, server, channels: channels)
        let publish = RedisCommand("PUBLISH", ["chat", Inbox.message(0)])
        for _ in 0..<10 { _ = try await client.pipeline([RedisCommand](repeating: publish, count: 100)) }
        try await inbox.wait(for: 1000)
        let entries = try await inbox.entries()
        #expect(entries.count == 1000)
        #expect(Set(entries.compactMap { $0["id"] }).count == 1000)
        #expect(entries.allSatisfy { $0["channel"] == "chat" && $0["received"]?.count == 13 })
        for replica in replicas { #expect(try await replica.counters(\.accepted) == 1000) }
        // Nobody adds anything when what is remembered is overdue.
        try await inbox.pause(.seconds(6))
        #expect(try await inbox.entries().count == 1000)
    }

    @Test("When the holder of the lease is killed, the others write what is missing, and nothing twice")
    func killedHolder() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let replicas = try await replicas(3, server)
        let victim = try await holder(of: replicas)
        for number in 0..<400 {
            try await inbox.publish(number..<(number + 1))
            if number == 200 { victim.kill() }
        }
        try await inbox.wait(for: 400, within: .seconds(8))
        try await expectOnce(0..<400, in: inbox)
    }

    @Test("A Redis that comes back without its last writes gets them again, under the ids that they had")
    func lostWrites() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let replicas = try await replicas(3, server)
        try await inbox.publish(0..<100)
        try await inbox.wait(for: 100)
        let ids = try await inbox.entries().compactMap { $0["id"] }
        try await server.kill()
        try await server.start()
        try await inbox.wait(for: 100)
        for replica in replicas { try await replica.listens() }
        try await inbox.publish(100..<200)
        try await inbox.wait(for: 200)
        try await expectOnce(0..<200, in: inbox)
        #expect(try await inbox.entries().compactMap { $0["id"] }.prefix(100) == ids[...])
    }

    @Test("A clean stop of the holder hands over at once, and loses and repeats nothing")
    func handOver() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        var replicas = try await replicas(3, server)
        var number = 0
        while replicas.count > 1 {
            let leaving = try await holder(of: replicas)
            async let left: Void = leaving.stop(within: .seconds(2))
            for _ in 0..<200 {
                try await inbox.publish(number..<(number + 1))
                number += 1
            }
            try await left
            replicas.removeAll { $0 === leaving }
            try await inbox.publish(number..<(number + 1))
            number += 1
            // Well below the lease, and what others wait before they write.
            try await inbox.wait(for: number, within: .milliseconds(1500))
        }
        try await replicas[0].stop()
        try await expectOnce(0..<number, in: inbox)
    }

    @Test("A lone replica that is started after one that was killed does not wait for the lease to end")
    func restarted() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let killed = try await replicas(1, server)[0]
        killed.kill()
        let next = try await replicas(1, server)[0]
        try await inbox.publish(0..<1)
        try await inbox.wait(for: 1, within: .milliseconds(1500))
        #expect(try await next.ask(\.isHolder) == true)
    }

    @Test(
        "Redis out of memory keeps messages waiting, also those of a replica that joins then; so does a flush of scripts"
    )
    func outOfMemory() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let client = inbox.client
        let first = try await replicas(1, server)[0]
        try await inbox.publish(0..<10)
        try await client.call("SCRIPT", "FLUSH")
        try await inbox.publish(10..<20)
        try await inbox.wait(for: 20)
        try await client.call("CONFIG", "SET", "maxmemory", "1")
        try await inbox.publish(20..<30)
        try await first.wait(for: "a problem") { $0.problem?.contains("OOM") == true }
        let second = try await replicas(1, server)[0]
        try await inbox.publish(30..<40)
        try await client.call("CONFIG", "SET", "maxmemory", "0")
        try await inbox.wait(for: 40)
        try await expectOnce(0..<40, in: inbox)
        try await second.wait(for: "no problem") { $0.problem == nil }
    }

    @Test("Replicas with other patterns do not use each other's names, and say so")
    func otherPatterns() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let all = try await replicas(2, server)
        let some = try await replicas(2, server, channels: "chat*,shop*")
        for replica in all + some { try await replica.wait(for: "a notice") { $0.notice != nil } }
        #expect(try await all[0].ask { $0.notice ?? "" }?.contains("chat*,shop*") == true)
        #expect(try await some[1].ask { $0.notice ?? "" }?.contains("(*)") == true)
        #expect(try await some[0].ask(\.problem) == .some(nil))
        try await inbox.publish(0..<10, on: "other")
        try await inbox.publish(10..<20, on: "chat")
        try await inbox.wait(for: 30)
        let messages = try await inbox.messages()
        #expect(messages.count == 30)
        for number in 0..<20 { #expect(messages.count { $0 == Inbox.message(number) } == (number < 10 ? 1 : 2)) }
    }

    @Test("One replica traces a message that is no JSON")
    func invalidJSON() async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let client = inbox.client
        let replicas = try await replicas(3, server)
        let heard = Recorder<String>(on: replicas[0].loop)
        let traces = client.subscribe(channels: ["pndebug"])
        let listener = Task {
            for await event in traces {
                switch event {
                case .ready: heard.record("ready")
                case .message(_, let payload): heard.record(String(decoding: payload, as: UTF8.self))
                case .lost: break
                }
            }
        }
        defer { listener.cancel() }
        _ = try await heard.first(1)
        for _ in 0..<3 { try await client.call("PUBLISH", "chat", #"{"pn_fcm":{},"pn_debug":true"#) }
        for replica in replicas {
            while try await replica.counters(\.invalid) < 3 { try await inbox.pause(.milliseconds(5)) }
        }
        let lines = try await heard.first(4).dropFirst()
        #expect(lines.allSatisfy { $0.contains("InvalidJSON") })
        try await inbox.pause(.milliseconds(100))
        #expect(heard.elements.count == 4)
    }

    @Test(
        "A subscription that is connected and deaf is noticed and replaced within three seconds",
        arguments: [(0, "PSUBSCRIBE"), (1, "PSUBSCRIBE"), (0, "")]
    )
    func deafness(others: Int, stalled: String) async throws {
        let server = try await RedisServer()
        let inbox = try await Inbox(server)
        let folder = try TemporaryFolder()
        let path = folder.path(of: "proxy")
        let loop = try EventLoop.onNewThread(named: "proxy")
        defer { loop.stop() }
        let target = Endpoint.unix(path: server.socketPath)
        let proxy = try await loop.run { LoopConfined(try StallingProxy(at: path, to: target, on: loop), on: loop) }
        let rest = try await replicas(others, server)
        let replica = try await RunningIngest(server, proxyURL: "unix://\(path)")
        try await replica.listens()
        let started = LoopInstant.current
        try await loop.run { proxy.value.stall(whereSent: stalled) }
        try await replica.wait(for: "a problem") { $0.problem?.contains("deaf") == true }
        try await replica.wait(for: "a new subscription") { $0.problem == nil }
        // Three seconds, and what a busy machine takes for a message between two threads, twice.
        let taken = LoopInstant.current - started
        let trifleStarted = LoopInstant.current
        try await replica.wait(for: "a turn") { _ in true }
        let trifle = LoopInstant.current - trifleStarted
        #expect(taken < .milliseconds(3500) + trifle * 4)
        try await inbox.publish(0..<5)
        try await inbox.wait(for: 5)
        try await expectOnce(0..<5, in: inbox)
        #expect(rest.count == others)
    }
}
