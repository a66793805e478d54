import Encoding
import Redis
import TestSupport
import Testing
import Transport
import Worker

@testable import pushbridge

@Suite("Options of devices")
struct DeviceOptionsTests {
    @Test(
        "The registry is named by one of three",
        arguments: [
            (["--topic", "com.x", "--environment", "production"], "apns production com.x"),
            (["--environment=Sandbox", "--topic=com.x"], "apns development com.x"),
            (["--no-topic"], "apns"), (["--fcm"], "fcm"), ([], nil),
        ] as [([String], String?)]
    )
    func registries(options: [String], label: String?) throws {
        let arguments = try Arguments(["token"] + options, for: DevicesListCommand.specification)
        #expect(try DeviceOptions.kind(arguments)?.label == label)
    }

    @Test(
        "Two registries, and half of one, are refused",
        arguments: [
            ["--fcm", "--no-topic"], ["--fcm", "--topic", "t", "--environment", "production"], ["--topic", "t"],
            ["--environment", "production"], ["--fcm", "--environment", "production"],
            ["--topic", "t", "--environment", "prod"], ["--topic", "", "--environment", "production"],
        ]
    )
    func refused(options: [String]) throws {
        let arguments = try Arguments(["token"] + options, for: DevicesListCommand.specification)
        #expect(throws: UsageError.self) { try DeviceOptions.kind(arguments) }
    }

    @Test("Channels are separated by commas, each counts once, blanks around them do not")
    func channels() throws {
        let options = ["t", "--channels", "a, b ,a", "--channels", "c d"]
        let arguments = try Arguments(options, for: DevicesAddCommand.specification)
        #expect(try DeviceOptions.channels(arguments) == [[0x61], [0x62], Array("c d".utf8)])
        for list in ["", ",", "a,,b", " "] {
            let arguments = try Arguments(["t", "--channels", list], for: DevicesAddCommand.specification)
            #expect(throws: UsageError.self) { try DeviceOptions.channels(arguments) }
        }
    }
}

/// Runs the built program as a person does.
@Suite("The commands against a real Redis", .redisServer, .timeLimit(.minutes(1)))
struct DeviceCommandTests {
    static let token = String(repeating: "00fF", count: 16)

    @Test("A device is added, listed, moved and removed, in all registries or in one")
    func life() async throws {
        let runner = try Runner(prefix: "life:")
        let app = ["--topic", "com.x", "--environment", "production"]
        let added = try await runner.run(["devices", "add", Self.token, "--channels", "a,b", "--json"] + app)
        #expect(added.code == 0)
        let line = try JSONDocument(added.output).root
        #expect(line["token"]?.string == Self.token.lowercased())
        #expect(line["gateway"]?.string == "apns")
        #expect(line["channels"]?[1]?["changed"]?.bool == true)
        #expect(try await runner.run(["devices", "add", Self.token, "--channels", "a", "--no-topic"]).code == 0)
        #expect(try await runner.lines(["devices", "list", Self.token]).count == 2)
        #expect(try await runner.lines(["devices", "on", "a"]).count == 2)
        let new = "aabb"
        #expect(try await runner.lines(["devices", "replace", Self.token, new]).count == 2)
        #expect(try await runner.lines(["devices", "replace", Self.token, new]).isEmpty)
        #expect(try await runner.lines(["devices", "list", Self.token]).isEmpty)
        let removed = try await runner.lines(["devices", "remove", new, "--channels", "a,z"] + app)
        #expect(removed.count == 1)
        #expect(removed[0]["channels"]?[0]?["changed"]?.bool == true)
        #expect(removed[0]["channels"]?[1]?["changed"]?.bool == false)
        let left = try await runner.lines(["devices", "list", new])
        #expect(left.count == 2)
        #expect(left[0]["topic"] == nil)
        #expect(left[1]["channels"]?[0]?["channel"]?.string == "b")
        #expect(try await runner.lines(["devices", "remove", new]).count == 2)
        #expect(try await runner.lines(["devices", "remove", new]).isEmpty)
    }

    @Test("What another program put into a set is found by its channel")
    func foreign() async throws {
        let runner = try Runner(prefix: "foreign:")
        let client = try await RedisServer.current().client()
        defer { client.close() }
        try await client.call("SADD", "foreign:{a}:apns:development:x", "AB", "CD")
        try await client.call("SADD", "foreign:{a}:fcm", "AB")
        #expect(try await runner.lines(["devices", "list", "AB"]).isEmpty)
        let removed = try await runner.lines(["devices", "remove", "AB", "--channels", "a"])
        #expect(removed.count == 2)
        let left = try await runner.lines(["devices", "on", "a"])
        #expect(left.count == 1)
        #expect(left[0]["token"]?.string == "CD")
        let count = try await runner.run(["devices", "on", "a", "--count"])
        #expect(count.text == "apns development x: 1 device\n")
    }

    @Test("A new token that does not fit a registry changes nothing")
    func unfit() async throws {
        let runner = try Runner(prefix: "unfit:")
        #expect(try await runner.run(["devices", "add", "aabb", "--channels", "a", "--no-topic"]).code == 0)
        #expect(try await runner.run(["devices", "replace", "aabb", "xyz"]).code == 2)
        #expect(try await runner.lines(["devices", "list", "aabb"]).count == 1)
    }

    @Test("Wrong use ends with 2, a Redis that is not there with 1, wrong settings with 78")
    func exitCodes() async throws {
        let runner = try Runner(prefix: "codes:")
        #expect(try await runner.run(["devices", "add", "xyz", "--channels", "a", "--no-topic"]).code == 2)
        #expect(try await runner.run(["devices", "add", "abc", "--channels", "a", "--no-topic"]).code == 2)
        #expect(try await runner.run(["devices", "add", "ab", "--channels", "a"]).code == 2)
        #expect(try await runner.run(["devices", "add", "ab", "--fcm"]).code == 2)
        #expect(try await runner.run(["devices", "list"]).code == 2)
        let lost = try await runner.run(["devices", "list", "ab"], redis: "unix:///nowhere/redis.sock")
        #expect(lost.code == 1)
        #expect(lost.errors.contains("/nowhere/redis.sock"))
        #expect(try await runner.run(["devices", "list", "ab"], redis: "http://x").code == 78)
    }

    @Test("A message is published as it is in the file, with pn_debug if traces are asked for")
    func publish() async throws {
        let runner = try Runner(prefix: "publish:")
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let message = #"{ "pn_fcm": {"data":{"n":1e400}} }"# + "\n"
        let file = runner.folder.path(of: "message.json")
        try File.write(Array(message.utf8), to: file)
        #expect(try await runner.run(["publish", "publish:ch", "--message", file]).code == 1)
        var events = client.subscribe(channels: ["publish:ch"]).makeAsyncIterator()
        #expect(await events.next() == .ready)
        #expect(try await runner.run(["publish", "publish:ch", "--message", file]).code == 0)
        #expect(await events.next() == .message(channel: Array("publish:ch".utf8), payload: Array(message.utf8)))
        let published = try await runner.run(["publish", "publish:ch", "--message", file, "--debug", "--json"])
        let expected = #"{ "pn_fcm": {"data":{"n":1e400}} ,"pn_debug":true}"#
        #expect(await events.next() == .message(channel: Array("publish:ch".utf8), payload: Array(expected.utf8)))
        #expect(try JSONDocument(published.output).root["subscribers"]?.integer == 1)
        #expect(try await runner.run(["publish", "publish:ch", "--message", file, "--title", "x"]).code == 2)
    }

    @Test("publish --trace hears the traces that follow at once, and ends when all is completed")
    func trace() async throws {
        let runner = try Runner(prefix: "trace:")
        let client = try await RedisServer.current().client()
        defer { client.close() }
        var events = client.subscribe(channels: ["trace:ch"]).makeAsyncIterator()
        #expect(await events.next() == .ready)
        async let published = runner.run(["publish", "trace:ch", "--title", "x", "--fcm", "--trace"])
        guard case .message(_, let payload) = await events.next() else {
            Issue.record("nothing was published")
            return
        }
        // Stands in for a worker, whose traces have a form that the contract fixes.
        for (stage, more) in [
            ("received", ",\"bytes\":\(payload.count)"), ("devices", ",\"count\":0"), ("completed", ""),
        ] {
            let trace = #"{"stage":"\#(stage)","id":"7-0","channel":"trace:ch","time":1,"text":"as \#(stage)"\#(more)}"#
            try await client.call("PUBLISH", "pndebug", trace)
        }
        let result = try await published
        #expect(result.code == 0, "\(result.errors)")
        let lines = result.text.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines.last?.hasSuffix("as completed") == true)
        let late = try await runner.run(["publish", "trace:ch", "--title", "x", "--fcm", "--trace", "--timeout", "1"])
        #expect(late.code == 1)
        #expect(late.errors.contains("no trace"))
    }

    @Test("tail shows the traces of one channel")
    func tail() async throws {
        let runner = try Runner(prefix: "tail:")
        let client = try await RedisServer.current().client()
        defer { client.close() }
        async let tail = runner.run(
            ["tail", "--channel", "tail:a", "--count", "2", "--json", "--debug-channel", "{channel}.traces"]
        )
        // Published until it is heard: it says on standard error when it listens, but here only the number counts.
        var heard: Int64 = 0
        while heard == 0 {
            let trace = #"{"stage":"sent","id":"1-0","channel":"tail:a","time":1,"text":"x"}"#
            heard = try await client.call("PUBLISH", "tail:a.traces", trace).integer ?? 0
        }
        try await client.call("PUBLISH", "tail:a.traces", "no trace")
        try await client.call("PUBLISH", "tail:b.traces", #"{"stage":"sent","id":"2-0","channel":"tail:b"}"#)
        try await client.call("PUBLISH", "tail:a.traces", #"{"stage":"error","id":"3-0","channel":"tail:a"}"#)
        let result = try await tail
        #expect(result.code == 0)
        let stages = try result.output.split(separator: 0x0A).map { try JSONDocument(Array($0)).root["stage"]?.string }
        #expect(stages == ["sent", "error"])
    }
}

/// Runs the built program on the suite's Redis.
struct Runner {
    struct Result: Sendable {
        let code: Int32
        let text: String
        let errors: String

        var output: [UInt8] { Array(text.utf8) }
    }

    let folder: TemporaryFolder
    private let prefix: String
    private let url: String

    init(prefix: String) throws {
        folder = try TemporaryFolder(prefix: "pushbridge-commands")
        self.prefix = prefix
        url = try RedisServer.current().url()
    }

    /// Runs to the end and gives what it wrote.
    func run(_ arguments: [String], redis: String? = nil) async throws -> Result {
        let environment = ["PUSHBRIDGE_REDIS_URL": redis ?? url, "PUSHBRIDGE_PREFIX": prefix]
        let result = try await BuiltProgram.run(arguments, environment: environment)
        guard case .code(let code) = result.exit else {
            throw CommandError("\(arguments) did not end by itself: \(result.error)")
        }
        return Result(code: code, text: result.output, errors: result.error)
    }

    /// Runs with `--json`; each line is an object.
    func lines(_ arguments: [String]) async throws -> [JSONValue] {
        let result = try await run(arguments + ["--json"])
        guard result.code == 0 else { throw CommandError("\(arguments): \(result.errors)") }
        return try result.output.split(separator: 0x0A).map { try JSONDocument(Array($0)).root }
    }
}
