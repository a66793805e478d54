import Encoding
import Transport
import Worker

/// `queue dead`: the dead letters, oldest first.
///
/// With `--json` one line for each: `{"id":"1764500000000-0","time":1764500000000,"reason":"…","stream":"messages",
/// "entry":"1764499990000-0","deliveries":3,"message_id":"…","channel":"chat.1","message":"{…}"}`, of a part of a message
/// also `target`. What a letter does not have is left out.
enum QueueDeadCommand: Command {
    static let specification = CommandSpecification(
        name: "queue dead",
        summary: "list the dead letters: entries that ended their worker several times",
        options: [DeadLetterOptions.json],
        settings: .redis
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let isJSON = invocation.arguments.has("json")
        let count = try invocation.withDeadLetters { store in
            var count = 0
            try await store.forEachPage { page in
                count += page.count
                StandardStream.output.write(page.flatMap { isJSON ? line($0) : Array(text($0).utf8) })
            }
            return count
        }
        if count == 0, !isJSON { StandardStream.output.write("there are no dead letters\n") }
        return .good
    }

    static func line(_ letter: DeadLetter) -> [UInt8] {
        var json = JSONWriter()
        func add(_ name: StaticString, _ text: [UInt8]?) {
            guard let text else { return }
            json.key(name)
            json.string(text)
        }
        func add(_ name: StaticString, _ number: Int64?) {
            guard let number else { return }
            json.key(name)
            json.integer(number)
        }
        json.beginObject()
        add("id", Array(letter.id.utf8))
        add("time", letter.time)
        add("reason", letter.reason.map { Array($0.utf8) })
        add("stream", letter.stream.map { Array($0.utf8) })
        add("entry", letter.entry.map { Array($0.utf8) })
        add("deliveries", letter.deliveries)
        add("message_id", letter.messageID.map { Array($0.utf8) })
        add("target", letter.target)
        add("channel", letter.channel)
        add("message", letter.message)
        json.endObject()
        return json.bytes + [0x0A]
    }

    static func text(_ letter: DeadLetter) -> String {
        let channel = letter.channel.map { " on \(Printable.value($0))" } ?? ""
        let bytes = letter.message.map { ", \($0.count) bytes" } ?? ", without a message"
        let part = letter.target == nil ? "message" : "part of a message"
        let deliveries = letter.deliveries.map { ", given to workers \($0) times" } ?? ""
        return """
            \(letter.id)  \(Timestamp.text(unixMilliseconds: letter.time))  \(part)\(channel)\(bytes)\(deliveries)
              \(Printable.value(letter.reason ?? "no reason was noted"))

            """
    }
}
