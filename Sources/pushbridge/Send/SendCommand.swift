import Transport
import Worker

/// `send`: one push straight to one device, past Redis, with the provider's answer.
///
/// With `--json` one object: `{"accepted":true,"token":"…","gateway":"apns","environment":"production",
/// "topic":"com.example.app","credential":"key …","status":200,"apns_id":"…"}`; for FCM `name` instead of `apns_id`;
/// refused: `reason`, and `advice` where it is known; without an answer `reason` and `text`.
enum SendCommand: Command {
    static let specification = CommandSpecification(
        name: "send",
        summary: "send one push straight to one device, past Redis, and show the provider's answer",
        operands: "TOKEN",
        operandCount: 1...1,
        options: [
            Option("payload", "FILE", "the JSON to send, for instance an .apn file; - is standard input"),
            Option("topic", "TOPIC", "the app's bundle ID, unless the payload names it (Simulator Target Bundle)"),
            Option("environment", "NAME", "development (default) or production"),
            Option("push-type", "TYPE", "the push type; chosen by the payload without this"),
            Option("priority", "N", "10, 5 or 1"),
            Option("collapse-id", "ID", "pushes with the same one replace each other"),
            Option("auth-method", "NAME", "token (default) or cert"),
            Option("fcm", nil, "an FCM device; the payload is a v1 message without a target"),
            Option("channel", "NAME", "take the FCM project that is for this channel"),
            Option("json", nil, "machine-readable: one JSON object"),
        ],
        settings: [.apns, .fcm, .log],
        notes: [
            "Uses the credentials, requests and connections of the worker. Nothing is registered, removed or tried again. "
                + "Ends with 0 if the provider accepted the push, which is no proof that the device got it, else with 1."
        ]
    )

    private static let maximumBytes = 1 << 20

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        let payload = try arguments["payload"].map { try read($0) }
        let draft = try SendDraft(arguments, payload: payload, settings: invocation.settings.plan)
        let token = try DeviceOptions.token(arguments.operands[0], draft.kind)
        let plan = Plan.make(
            draft.message,
            received: currentUnixMilliseconds(),
            settings: invocation.settings.plan,
            explaining: true
        )
        for notice in plan.notices { StandardStream.error.write("note: \(notice.text)\n") }
        guard let ending = try send(plan, token, invocation) else {
            throw CommandError("ended before there was an answer")
        }
        let report = SendReport(ending: ending, token: token, kind: draft.kind)
        StandardStream.output.write(arguments.has("json") ? report.line : Array(report.text.utf8))
        return report.isAccepted ? .good : .failed
    }

    private static func read(_ path: String) throws -> [UInt8] {
        do {
            if path == "-" { return try FileContents.readStandardInput(maximumBytes: maximumBytes) }
            return try FileContents.read(path, maximumBytes: maximumBytes).bytes
        } catch {
            throw CommandError("the payload \"\(path)\" \(error.reason)")
        }
    }

    private static func send(_ plan: Plan, _ token: [UInt8], _ invocation: Invocation) throws -> SingleSend.Ending? {
        Signals.block()
        let loop = try EventLoop()
        let single = try SingleSend(invocation.settings, loop: loop, log: invocation.log)
        let channel = Array((invocation.arguments["channel"] ?? "").utf8)
        var ending: SingleSend.Ending?
        let start = LoopConfined(single, on: loop)
        let signals = try Signals(on: loop) { _ in loop.stop() }
        loop.schedule(after: .zero) {
            start.value.send(plan, to: token, channel: channel) {
                ending = $0
                loop.stop()
            }
        }
        loop.run()
        signals.close()
        return ending
    }
}
