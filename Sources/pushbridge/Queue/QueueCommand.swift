import Encoding
import Redis
import Transport
import Worker

/// `queue`: how much waits, since when, and who is serving it.
///
/// With `--json`: `{"messages":3,"batches":0,"delayed":0,"dead":0,"oldest_ms":1200,
/// "owners":[{"name":"worker-0123456789ab","messages":2,"batches":0,"idle_ms":300}]}`.
enum QueueCommand: Command {
    static let specification = CommandSpecification(
        name: "queue",
        summary: "how full the queue is, how old its oldest message, and who is serving it",
        options: [Option("json", nil, "machine-readable: one JSON object")],
        settings: .redis,
        notes: [
            "Messages are unfinished ones, batches parts of big fan-outs and retries that are due, delayed are retries "
                + "that wait for their time, dead are entries that were given up. A worker that has been idle for more "
                + "than 5 s is gone: what it owns is taken over.",
            "pushbridge queue dead lists the dead letters, queue replay puts them back, queue drop deletes them.",
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let keys = RedisKeys(prefix: invocation.settings.prefix)
        let overview = try invocation.withRedis("queue") { try await QueueOverview.read($0, keys: keys) }
        let isWritten =
            invocation.arguments.has("json")
            ? StandardStream.output.write(json(overview)) : StandardStream.output.write(text(overview))
        return isWritten ? .good : .failed
    }

    static func json(_ overview: QueueOverview) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for (name, count) in counts(overview) {
            json.key(name)
            json.integer(count)
        }
        if let oldest = overview.oldest {
            json.key("oldest_ms")
            json.integer(oldest)
        }
        json.key("owners")
        json.beginArray()
        for owner in overview.owners {
            json.beginObject()
            json.key("name")
            json.string(owner.name)
            json.key("messages")
            json.integer(owner.messages)
            json.key("batches")
            json.integer(owner.batches)
            json.key("idle_ms")
            json.integer(owner.idle)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes + [0x0A]
    }

    static func text(_ overview: QueueOverview) -> String {
        var text = ""
        for (name, count) in counts(overview) {
            let oldest = name == "messages" ? overview.oldest.map { ", the oldest \(age($0)) old" } : nil
            text += "\(padded(name, 10))\(count)\(oldest ?? "")\n"
        }
        guard !overview.owners.isEmpty else { return text + "no worker has ever read it\n" }
        for owner in overview.owners {
            text += "\(padded(Printable.value(owner.name), 20))  \(owner.messages) messages, \(owner.batches) batches, "
            text += "idle for \(age(owner.idle))\n"
        }
        return text
    }

    private static func counts(_ overview: QueueOverview) -> [(name: String, count: Int64)] {
        [
            ("messages", overview.messages), ("batches", overview.batches), ("delayed", overview.delayed),
            ("dead", overview.dead),
        ]
    }

    /// A time span as people read it.
    static func age(_ milliseconds: Int64) -> String {
        switch milliseconds {
        case ..<1000: "\(milliseconds) ms"
        case ..<120_000: "\(milliseconds / 1000) s"
        case ..<7_200_000: "\(milliseconds / 60_000) min"
        case ..<172_800_000: "\(milliseconds / 3_600_000) h"
        default: "\(milliseconds / 86_400_000) days"
        }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
