import Encoding
import Redis
import Transport
import Worker

/// `publish`: makes a message, publishes it, and with `--trace` waits for what becomes of it.
///
/// With `--json`: `{"channel":"ch1","bytes":123,"subscribers":2}`, then with `--trace` the traces, one a line.
enum PublishCommand: Command {
    static let specification = CommandSpecification(
        name: "publish",
        summary: "make and publish a message; with --trace wait and show what becomes of it",
        operands: "CHANNEL",
        operandCount: 1...1,
        options: [
            Option("title", "TEXT", "the title of the notification"),
            Option("body", "TEXT", "the text of the notification"),
            Option("badge", "N", "the number at the app's icon"),
            Option("sound", "NAME", "the sound to play: default, or the name of a file in the app"),
            Option("data", "KEY=VALUE", "a value for the app; may be given more than once", repeats: true),
            Option("topic", "TOPIC", "for APNs devices registered with this topic (the app's bundle ID)"),
            Option("environment", "NAME", "development (default) or production, with --topic"),
            Option("push-type", "TYPE", "the push type, with --topic; chosen by the content without this"),
            Option("no-topic", nil, "for APNs devices registered without a topic"),
            Option("fcm", nil, "for FCM devices"),
            Option("debug", nil, "ask for traces (pn_debug)"),
            Option("message", "FILE", "the whole message from a file instead; - is standard input"),
            Option("trace", nil, "ask for traces, wait until all is completed, and show them"),
            Option("timeout", "SECONDS", "how long --trace waits at most; 30 without this"),
            Option("json", nil, "machine-readable: JSON, one object a line"),
        ],
        settings: [.redis, .traces],
        notes: [
            "Ends with 1 if nobody is subscribed, and with --trace also if a push failed or not all was completed in time."
        ]
    )

    /// What is to be done, from the options.
    private struct Order: Sendable {
        let channel: String
        let message: [UInt8]
        let plan: Plan
        let isJSON: Bool
        let waitsFor: Duration?
        let place: TracePlace

        /// Whether workers say anything of the message: it has a push key, and asks for traces.
        var canBeTraced: Bool {
            switch message.withRawSpan({ PushKeyFilter.inspect($0) }) {
            case .none: false
            case .push: true
            case .invalid(let debug): debug
            }
        }
    }

    // What of the options says what the message is.
    private static let content = [
        "title", "body", "badge", "sound", "data", "topic", "environment", "push-type", "no-topic", "fcm",
    ]
    /// Workers drop longer messages (1 MiB).
    private static let maximumBytes = 1_048_576

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let order = try order(invocation)
        return try invocation.withRedis("publish") { client in
            guard let deadline = order.waitsFor else { return try await publish(order, client) }
            return try await publishAndWatch(order, client, deadline)
        }
    }

    private static func order(_ invocation: Invocation) throws -> Order {
        let arguments = invocation.arguments
        let channel = arguments.operands[0]
        _ = try DeviceOptions.channel(channel)
        let seconds = try arguments.integer("timeout", in: 1...86_400)
        guard seconds == nil || arguments.has("trace") else {
            throw UsageError("--timeout says nothing without --trace")
        }
        let message = try message(arguments)
        guard message.count <= maximumBytes else {
            throw UsageError("the message has \(message.count) bytes; workers drop what is over \(maximumBytes)")
        }
        let settings = invocation.settings
        return Order(
            channel: channel,
            message: message,
            plan: Plan.make(message, received: currentUnixMilliseconds(), settings: settings.plan, explaining: true),
            isJSON: arguments.has("json"),
            waitsFor: arguments.has("trace") ? .seconds(seconds ?? 30) : nil,
            place: TracePlace(setting: settings.debugChannel, channel: channel)
        )
    }

    private static func message(_ arguments: Arguments) throws -> [UInt8] {
        guard let path = arguments["message"] else { return try MessageDraft(arguments).bytes }
        if let option = content.first(where: { arguments.has($0) }) {
            throw UsageError("--message is the whole message: --\(option) cannot be added to it")
        }
        let bytes = try File.read(path)
        let root: JSONValue
        do {
            root = try JSONDocument(bytes).root
        } catch {
            warn("the message is \(error); it is published nevertheless")
            return bytes
        }
        guard root.isObject,
            ["pn_apns", "pn_fcm", "pn_gcm"].contains(where: { name in
                root.members.contains { $0.key.string == name }
            })
        else {
            warn("the message has no pn_apns, pn_fcm or pn_gcm: no push comes of it")
            return bytes
        }
        guard arguments.has("debug") || arguments.has("trace") else { return bytes }
        return asking(root)
    }

    /// The message with `pn_debug` as its last member; everything else stays byte for byte.
    private static func asking(_ root: JSONValue) -> [UInt8] {
        let comma = root.isEmpty ? "" : ","
        return Array(root.text.dropLast()) + Array("\(comma)\"pn_debug\":true}".utf8)
    }

    private static func publish(_ order: Order, _ client: RedisClient) async throws -> ExitCode {
        let count = try await client.call("PUBLISH", order.channel, order.message).integer ?? 0
        if order.isJSON {
            var json = JSONWriter()
            json.beginObject()
            json.key("channel")
            json.string(order.channel)
            json.key("bytes")
            json.integer(order.message.count)
            json.key("subscribers")
            json.integer(count)
            json.endObject()
            StandardStream.output.write(json.bytes + [0x0A])
        } else {
            let who = count == 1 ? "1 subscriber" : "\(count) subscribers"
            let place = Printable.value(order.channel)
            StandardStream.output.write("published \(order.message.count) bytes on \(place) to \(who)\n")
        }
        guard count == 0 else { return .good }
        throw CommandError("nobody heard the message: no worker is subscribed to this channel on this Redis")
    }

    private static func warn(_ text: String) {
        StandardStream.error.write("pushbridge publish: \(Printable.escaped(text))\n")
    }
}

// MARK: Traces

extension PublishCommand {
    // Notices may follow when there is nothing that would be completed.
    private static let graceForNotices = Duration.milliseconds(300)

    private static func publishAndWatch(
        _ order: Order,
        _ client: RedisClient,
        _ deadline: Duration
    ) async throws -> ExitCode {
        var events = order.place.events(client).makeAsyncIterator()
        // Subscribed before the message is published: no trace is missed.
        switch await events.next() {
        case .ready: break
        case .lost(let error): throw CommandError("the traces cannot be heard: \(error)")
        default: throw CommandError("the traces cannot be heard")
        }
        _ = try await publish(order, client)
        guard order.canBeTraced else { throw CommandError("no trace comes of such a message") }
        var watch = TraceWatch(channel: order.channel, message: order.message, plan: order.plan)
        let alarm = Alarm(client)
        alarm.set(after: deadline)
        defer { alarm.cancel() }
        while !watch.isDone || !watch.expectsMore, let event = await events.next() {
            switch event {
            case .message(_, let payload):
                for trace in TraceLine(payload).map({ watch.receive($0) }) ?? [] {
                    StandardStream.output.write(trace.output(json: order.isJSON))
                }
                if watch.isDone, !watch.expectsMore { alarm.shorten(to: graceForNotices) }
            case .lost(let error): throw CommandError("the traces were lost: \(error)")
            case .ready: break
            }
        }
        guard watch.isDone else { throw CommandError(unfinished(watch, after: deadline)) }
        return watch.hasFailure ? .failed : .good
    }

    private static func unfinished(_ watch: TraceWatch, after deadline: Duration) -> String {
        let fact = "\(watch.missing) after \(deadline.components.seconds) s"
        guard !watch.hasBegun else { return "\(fact); the worker goes on, and tail shows its traces" }
        return "\(fact): is a worker running on this Redis, with the same PUSHBRIDGE_DEBUG_CHANNEL"
            + " and PUSHBRIDGE_DEBUG not off?"
    }
}

/// Ends a client, and so its streams, when the time is over.
private final class Alarm {
    private let client: RedisClient
    private var task: Task<Void, Never>?
    private var isShortened = false

    init(_ client: RedisClient) {
        self.client = client
    }

    /// Brings the time nearer, once.
    func shorten(to duration: Duration) {
        guard !isShortened else { return }
        isShortened = true
        task?.cancel()
        set(after: duration)
    }

    func set(after duration: Duration) {
        let client = client
        task = Task {
            guard (try? await Task.sleep(for: duration)) != nil else { return }
            client.close()
        }
    }

    func cancel() {
        task?.cancel()
    }
}
