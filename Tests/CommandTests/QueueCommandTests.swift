import Encoding
import Redis
import TestSupport
import Testing
import Worker

@testable import pushbridge

/// Runs the built program as a person does.
@Suite("The commands of the queue against a real Redis", .redisServer, .timeLimit(.minutes(1)))
struct QueueCommandTests {
    private func client() async throws -> RedisClient { try await RedisServer.current().client() }

    @Test("A Redis that knows nothing of the queue has an empty one")
    func nothing() async throws {
        let runner = try Runner(prefix: "nothing:")
        let overview = try await runner.run(["queue", "--json"])
        #expect(overview.text == #"{"messages":0,"batches":0,"delayed":0,"dead":0,"owners":[]}"# + "\n")
        #expect(try await runner.run(["queue"]).text.hasSuffix("no worker has ever read it\n"))
        #expect(try await runner.run(["queue", "dead"]).text == "there are no dead letters\n")
        #expect(try await runner.lines(["queue", "dead"]).isEmpty)
        for verb in ["replay", "drop"] {
            #expect(try await runner.run(["queue", verb, "--all"]).code == 0)
            let missing = try await runner.run(["queue", verb, "1-0", "--json"])
            #expect(missing.code == 1)
            #expect(missing.text == #"{"id":"1-0","outcome":"missing"}"# + "\n")
        }
        let client = try await client()
        defer { client.close() }
        #expect(try await client.call("KEYS", "nothing:*").elements?.isEmpty == true)
    }

    @Test("Depth, age and owners of both streams are shown")
    func overview() async throws {
        let runner = try Runner(prefix: "depth:")
        let client = try await client()
        defer { client.close() }
        // Two entries, the older one from long ago, and one worker that has taken from both streams.
        try await client.call("XADD", "depth:{queue}:messages", "1000-0", "channel", "a", "message", "{}")
        try await client.call("XADD", "depth:{queue}:messages", "*", "channel", "a", "message", "{}")
        try await client.call("XADD", "depth:{queue}:batches", "*", "message", "1000-0", "target", "0", "tokens", "")
        try await client.call("ZADD", "depth:{queue}:delayed", 5, "x", 6, "y", 7, "z")
        try await client.call("XADD", "depth:{queue}:dead", "*", "reason", "r")
        for (stream, consumer, count) in [("messages", "worker-a", 1), ("batches", "worker-b", 1)] {
            let key = "depth:{queue}:\(stream)"
            try await client.call("XGROUP", "CREATE", key, "pushbridge", "0")
            try await client.call(
                RedisCommand(
                    "XREADGROUP",
                    ["GROUP", "pushbridge", consumer, "COUNT", count, "STREAMS", key, ">"]
                )
            )
        }
        let overview = try await runner.lines(["queue"])[0]
        #expect(["messages", "batches", "delayed", "dead"].map { overview[$0]?.integer } == [2, 1, 3, 1])
        #expect((overview["oldest_ms"]?.integer ?? 0) > 1_700_000_000_000)
        #expect(overview["owners"]?.elements.map { $0["name"]?.string } == ["worker-a", "worker-b"])
        #expect(overview["owners"]?.elements.map { $0["messages"]?.integer } == [1, 0])
        #expect(overview["owners"]?.elements.map { $0["batches"]?.integer } == [0, 1])
        #expect(overview["owners"]?[0]?["idle_ms"]?.integer ?? -1 >= 0)
        let text = try await runner.run(["queue"]).text
        #expect(text.contains("messages  2, the oldest "))
        #expect(text.contains("worker-b              0 messages, 1 batches, idle for "))
    }

    @Test("Dead letters are listed with what they hold, whatever that is")
    func dead() async throws {
        let runner = try Runner(prefix: "dead:")
        let client = try await client()
        defer { client.close() }
        try await Self.addLetter(client, "dead:", "7-0", ["stream", "messages", "entry", "5-0", "id", "4-0"])
        try await client.call("XADD", "dead:{queue}:dead", "8-1", "reason", "a\u{1B}b", "target", 2, "x", "y")
        let letters = try await runner.lines(["queue", "dead"])
        #expect(letters.map { $0["id"]?.string } == ["7-0", "8-1"])
        #expect(letters[0]["message"]?.string == #"{"pn_fcm":{}}"#)
        #expect(letters[0]["message_id"]?.string == "4-0")
        #expect(letters[0]["entry"]?.string == "5-0")
        #expect(letters[1]["target"]?.integer == 2)
        #expect(letters[1]["channel"] == nil)
        #expect(letters[1]["time"]?.integer == 8)
        let text = try await runner.run(["queue", "dead"]).text
        #expect(text.contains(#"a\u{1B}b"#))
        #expect(text.contains("on chat.1, 13 bytes, given to workers 3 times"))
    }

    @Test("A replayed letter is in the inbox as received now, under its own id")
    func replay() async throws {
        let runner = try Runner(prefix: "replay:")
        let client = try await client()
        defer { client.close() }
        try await Self.addLetter(client, "replay:", "1-0", ["stream", "messages", "entry", "5-0"])
        try await Self.addLetter(
            client,
            "replay:",
            "2-0",
            ["stream", "batches", "entry", "6-0", "id", "5-5", "target", "1", "tokens", "\u{1}t"]
        )
        try await client.call("XADD", "replay:{queue}:dead", "3-0", "reason", "no message")
        let before = try await client.call("TIME")[0]?.integer ?? 0
        let one = try await runner.run(["queue", "replay", "1-0", "--json"])
        #expect(one.code == 0)
        let all = try await runner.run(["queue", "replay", "--all"])
        #expect(all.code == 1)
        #expect(all.text.hasPrefix("2-0 is back in the queue as "))
        #expect(all.errors.contains("3-0 stays"))
        let entries = try await client.call("XRANGE", "replay:{queue}:messages", "-", "+").elements ?? []
        #expect(entries.count == 2)
        let entry = try JSONDocument(one.output).root["entry"]?.string
        #expect(entry != nil && entry == entries.first?[0]?.text)
        let fields = entries.map(Self.fields)
        #expect(fields[0]["id"] == "5-0" && fields[1]["id"] == "5-5")
        #expect(fields[0]["target"] == nil && fields[1]["target"] == "1" && fields[1]["tokens"] == "\u{1}t")
        for fields in fields {
            #expect(fields["channel"] == "chat.1" && fields["message"] == #"{"pn_fcm":{}}"#)
            #expect((fields["received"].flatMap { Int64($0) } ?? 0) / 1000 >= before)
            #expect(fields["reason"] == nil)
        }
        #expect(try await client.call("XLEN", "replay:{queue}:dead").integer == 1)
    }

    @Test("All of many letters are replayed or dropped, some by their ids")
    func many() async throws {
        let runner = try Runner(prefix: "many:")
        let client = try await client()
        defer { client.close() }
        for number in 1...50 { try await Self.addLetter(client, "many:", "\(number)-0", []) }
        #expect(try await runner.lines(["queue", "dead"]).count == 50)
        let named = try await runner.lines(["queue", "drop", "1-0", "50-0"])
        #expect(named.map { $0["outcome"]?.string } == ["dropped", "dropped"])
        #expect(try await runner.run(["queue", "drop", "1-0", "2-0"]).code == 1)
        #expect(try await runner.lines(["queue", "replay", "--all"]).count == 47)
        #expect(try await client.call("XLEN", "many:{queue}:messages").integer == 47)
        for number in 51...75 { try await Self.addLetter(client, "many:", "\(number)-0", []) }
        #expect(try await runner.lines(["queue", "drop", "--all"]).count == 25)
        #expect(try await client.call("XLEN", "many:{queue}:dead").integer == 0)
    }

    @Test(
        "Wrong use ends with 2",
        arguments: [
            ["replay"], ["drop"], ["replay", "--all", "1-0"], ["drop", "x"], ["drop", "1-+1"], ["drop", "1"],
            ["drop", "-"], ["dead", "1-0"], ["empty"],
        ]
    )
    func usage(arguments: [String]) async throws {
        #expect(try await Runner(prefix: "usage:").run(["queue"] + arguments).code == 2)
    }

    private static func addLetter(_ client: RedisClient, _ prefix: String, _ id: String, _ more: [String]) async throws
    {
        let fields = [
            "deliveries", "3", "reason", "it ended its worker three times", "time", "1764500000000", "channel",
            "chat.1",
            "message", #"{"pn_fcm":{}}"#, "received", "1764400000000",
        ]
        try await client.call(RedisCommand("XADD", ["\(prefix){queue}:dead", id] + fields + more))
    }

    private static func fields(of entry: RESPValue) -> [String: String] {
        let words = entry[1]?.elements?.compactMap(\.text) ?? []
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map { (words[$0], words[$0 + 1]) }
        )
    }
}
