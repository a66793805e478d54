import Encoding
import Redis
import Transport
import Worker

/// `tail`: follows the traces.
///
/// With `--json` one trace a line, as the worker wrote it.
enum TailCommand: Command {
    static let specification = CommandSpecification(
        name: "tail",
        summary: "follow the traces of messages that ask for them (pn_debug), one line each",
        options: [
            Option("channel", "CHANNEL", "only those of messages on this channel"),
            Option("count", "N", "end after so many"),
            Option("json", nil, "the traces themselves, one JSON object a line"),
        ],
        settings: [.redis, .traces],
        notes: ["Ctrl-C ends it. When Redis goes away it says so, and goes on when Redis is back."]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let channel = try invocation.arguments["channel"].map { name throws(UsageError) in
            guard !name.isEmpty else { throw UsageError("--channel is empty") }
            return name
        }
        let limit = try invocation.arguments.integer("count", in: 1...Int.max) ?? .max
        let isJSON = invocation.arguments.has("json")
        let place = TracePlace(setting: invocation.settings.debugChannel, channel: channel)
        return try invocation.withRedis("tail") { client in
            try await follow(place.events(client), channel: channel, limit: limit, isJSON: isJSON)
        }
    }

    private static func follow(
        _ events: AsyncStream<RedisEvent>,
        channel: String?,
        limit: Int,
        isJSON: Bool
    ) async throws -> ExitCode {
        var count = 0
        var isLost = false
        var wasReady = false
        for await event in events {
            switch event {
            case .ready:
                if isLost || !wasReady { say(isLost ? "Redis is back; listening again" : "listening for traces") }
                (isLost, wasReady) = (false, true)
            case .lost(let error):
                if !wasReady { throw CommandError("the traces cannot be heard: \(error)") }
                if !isLost { say("\(error); trying again") }
                isLost = true
            case .message(_, let payload):
                guard let trace = TraceLine(payload), channel == nil || trace.channel == channel else { continue }
                // The reader of our output may have gone.
                guard StandardStream.output.write(trace.output(json: isJSON)) else { return .good }
                count += 1
                if count >= limit { return .good }
            }
        }
        throw CommandError("the connection to Redis has ended")
    }

    private static func say(_ text: String) {
        StandardStream.error.write("pushbridge tail: \(Printable.escaped(text))\n")
    }
}

/// Where traces are published: the setting, and the channel of messages that they are wanted of.
struct TracePlace: Sendable {
    let name: String
    let isPattern: Bool

    init(setting: String, channel: String?) {
        let parts = setting.split(separator: "{channel}", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count < 2 {
            name = setting
            isPattern = false
        } else if let channel {
            name = "\(parts[0])\(channel)\(parts[1])"
            isPattern = false
        } else {
            name = "\(Self.literal(parts[0]))*\(Self.literal(parts[1]))"
            isPattern = true
        }
    }

    /// Hears what is published there.
    func events(_ client: RedisClient) -> AsyncStream<RedisEvent> {
        isPattern ? client.subscribe(patterns: [name]) : client.subscribe(channels: [name])
    }

    /// A text as a pattern that matches only itself (Redis: PSUBSCRIBE).
    private static func literal(_ text: Substring) -> String {
        text.reduce(into: "") { $0 += "*?[]\\^-".contains($1) ? "\\\($1)" : "\($1)" }
    }
}
