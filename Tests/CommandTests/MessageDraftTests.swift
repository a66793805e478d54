import Encoding
import Testing
import Worker

@testable import pushbridge

@Suite("Messages made by publish")
struct MessageDraftTests {
    @Test(
        "The options make a message",
        arguments: [
            (
                [
                    "--title", "Hi", "--body", "w\u{F6}rld \"x\"", "--badge", "0", "--sound", "default", "--topic",
                    "com.x",
                ],
                #"{"pn_apns":{"aps":{"alert":{"title":"Hi","body":"wörld \"x\""},"badge":0,"sound":"default"},"#
                    + #""pn_push":[{"targets":[{"topic":"com.x","environment":"development"}],"version":"v2"}]}}"#
            ),
            (
                ["--data", "k=v=w", "--data", "e=", "--topic", "t", "--environment", "Production", "--debug"],
                #"{"pn_debug":true,"pn_apns":{"aps":{"content-available":1},"k":"v=w","e":"","#
                    + #""pn_push":[{"targets":[{"topic":"t","environment":"production"}],"version":"v2"}]}}"#
            ),
            (
                ["--body", "x", "--topic", "t", "--push-type", "voip"],
                #"{"pn_apns":{"aps":{"alert":{"body":"x"}},"#
                    + #""pn_push":[{"targets":[{"topic":"t","environment":"development"}],"version":"v2","push_type":"voip"}]}}"#
            ),
            (["--title", "x", "--no-topic"], #"{"pn_apns":{"aps":{"alert":{"title":"x"}}}}"#),
            (
                ["--title", "x", "--badge", "2", "--sound", "s", "--data", "a=1", "--fcm", "--trace"],
                #"{"pn_debug":true,"pn_fcm":{"notification":{"title":"x"},"android":{"notification":"#
                    + #"{"notification_count":2,"sound":"s"}},"data":{"a":"1"}}}"#
            ),
            (["--data", "a=1", "--fcm"], #"{"pn_fcm":{"data":{"a":"1"}}}"#),
        ] as [([String], String)]
    )
    func messages(options: [String], expected: String) throws {
        let arguments = try Arguments(["channel"] + options, for: PublishCommand.specification)
        let bytes = try MessageDraft(arguments).bytes
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
        let plan = Plan.make(bytes, received: 0, settings: PlanSettings(defaultTopic: "d"), explaining: true)
        #expect(plan.failures.isEmpty)
        #expect(plan.notices.isEmpty, "\(plan.notices)")
        #expect(plan.targets.count == 1)
    }

    @Test(
        "Options that make no sense are refused with what to do",
        arguments: [
            (["--title", "x"], "for whom"), (["--fcm"], "say what"),
            (["--title", "x", "--environment", "production"], "--topic"),
            (["--title", "x", "--topic", "a b"], "bundle ID"),
            (["--title", "x", "--topic", "t", "--environment", "x"], "development"),
            (["--title", "x", "--topic", "t", "--no-topic"], "exclude"), (["--badge", "-1", "--fcm"], "--badge"),
            (["--badge", "x", "--fcm"], "--badge"), (["--data", "x", "--fcm"], "KEY=VALUE"),
            (["--data", "=x", "--fcm"], "KEY=VALUE"), (["--data", "aps=x", "--topic", "t"], "aps"),
            (["--data", "pn_debug=x", "--topic", "t"], "pn_debug"),
            (["--title", "x", "--fcm", "--push-type", "voip"], "--topic"),
            (["--title", "x", "--no-topic", "--push-type", "voip"], "--topic"),
            (["--title", "x", "--topic", "t", "--push-type", "Not This"], "letters"),
        ] as [([String], String)]
    )
    func refused(options: [String], part: String) throws {
        let arguments = try Arguments(["channel"] + options, for: PublishCommand.specification)
        let error = #expect(throws: UsageError.self) { try MessageDraft(arguments) }
        let sentence = error?.description ?? ""
        #expect(sentence.contains(part), "\(sentence)")
    }
}

@Suite("Watching the traces of a message")
struct TraceWatchTests {
    static let message = Array(#"{"pn_debug":true,"pn_fcm":{"data":{"a":"1"}},"pn_apns":{"aps":{}}}"#.utf8)

    private func trace(_ stage: String, id: String = "1-0", channel: String = "ch", _ more: String = "") -> TraceLine {
        let text = #"{"stage":"\#(stage)","id":"\#(id)","channel":"\#(channel)","time":1,"text":"t"\#(more)}"#
        guard let trace = TraceLine(Array(text.utf8)) else { preconditionFailure("no trace: \(text)") }
        return trace
    }

    private func watch() -> TraceWatch {
        let plan = Plan.make(Self.message, received: 0, settings: PlanSettings(defaultTopic: "d"))
        return TraceWatch(channel: "ch", message: Self.message, plan: plan)
    }

    @Test("All targets must be completed; traces of other messages are not shown")
    func completed() {
        var watch = watch()
        let bytes = ",\"bytes\":\(Self.message.count)"
        #expect(watch.receive(trace("received", id: "0-9", ",\"bytes\":5")).isEmpty)
        #expect(watch.receive(trace("received", id: "0-8", channel: "other", bytes)).isEmpty)
        #expect(watch.receive(trace("devices", id: "1-0")).isEmpty)
        #expect(!watch.hasBegun)
        #expect(watch.receive(trace("received", bytes)).map(\.stage) == ["received", "devices"])
        #expect(watch.receive(trace("completed", id: "0-9")).isEmpty)
        #expect(watch.receive(trace("completed")).count == 1)
        #expect(!watch.isDone)
        #expect(watch.missing == "1 of 2 targets are completed")
        #expect(watch.receive(trace("completed")).count == 1)
        #expect(watch.isDone)
        #expect(!watch.hasFailure)
    }

    @Test(
        "A push that failed or expired is a failure",
        arguments: [
            ("error", ",\"device\":\"d\""), ("completed", ",\"errored\":1,\"expired\":0"),
            ("completed", ",\"expired\":2"),
        ]
    )
    func failures(stage: String, more: String) {
        var watch = watch()
        _ = watch.receive(trace("received", ",\"bytes\":\(Self.message.count)"))
        _ = watch.receive(trace(stage, more))
        #expect(watch.hasFailure)
    }

    @Test("What failed before it became a target is waited for until it is completed")
    func errors() {
        let message = Array(#"{"pn_debug":true,"pn_apns":5}"#.utf8)
        let plan = Plan.make(message, received: 0, settings: PlanSettings())
        var watch = TraceWatch(channel: "ch", message: message, plan: plan)
        _ = watch.receive(trace("received", ",\"bytes\":\(message.count)"))
        #expect(watch.expectsMore)
        #expect(!watch.isDone)
        _ = watch.receive(trace("error", ",\"gateway\":\"apns\""))
        #expect(!watch.isDone)
        _ = watch.receive(trace("completed", ",\"gateway\":\"apns\""))
        #expect(watch.isDone)
        #expect(watch.hasFailure)
    }

    @Test("A message that is no JSON ends with its one trace, which has no id")
    func invalid() {
        let message = Array(#"{"pn_debug":true,"pn_apns":"#.utf8)
        var watch = TraceWatch(
            channel: "ch",
            message: message,
            plan: Plan.make(message, received: 0, settings: PlanSettings())
        )
        #expect(watch.receive(trace("error", id: "-", ",\"reason\":\"InvalidJSON\"")).count == 1)
        #expect(watch.isDone)
        #expect(watch.hasFailure)
    }

    @Test("A line is harmless, and the JSON is one line")
    func lines() throws {
        let text =
            "{\"stage\":\"sent\",\n \"id\":\"1-0\",\"channel\":\"a\\u001b[31m\",\"time\":1764500000003,\"text\":\"x\\ny\"}"
        let trace = try #require(TraceLine(Array(text.utf8)))
        #expect(trace.line == "2025-11-30T10:53:20.003Z sent      1-0 a\\u{1B}[31m: x\\u{A}y\n")
        #expect(trace.output(json: true).filter { $0 == 0x0A }.count == 1)
        #expect(trace.output(json: true).last == 0x0A)
    }

    @Test("What is no trace is passed over", arguments: ["", "5", "[]", "{}", "{\"stage\":5}", "{\"stage\":\"x\""])
    func noTrace(payload: String) {
        #expect(TraceLine(Array(payload.utf8)) == nil)
    }

    @Test(
        "A debug channel for each channel is heard by a pattern, or by its name",
        arguments: [
            ("pndebug", nil, "pndebug", false), ("pndebug", "ch", "pndebug", false),
            ("{channel}-pndebug", nil, "*\\-pndebug", true), ("{channel}-pndebug", "ch", "ch-pndebug", false),
            ("d?{channel}", nil, "d\\?*", true),
        ] as [(String, String?, String, Bool)]
    )
    func places(setting: String, channel: String?, name: String, isPattern: Bool) {
        let place = TracePlace(setting: setting, channel: channel)
        #expect(place.name == name)
        #expect(place.isPattern == isPattern)
    }
}
