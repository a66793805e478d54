import Encoding
import Transport
import Worker

/// What the commands on dead letters have in common.
enum DeadLetterOptions {
    static let json = Option("json", nil, "machine-readable: one JSON object a line")
    static let all = Option("all", nil, "all that are there when the command starts")

    /// The ids on the command line; nil: all letters.
    static func ids(_ arguments: Arguments) throws(UsageError) -> [String]? {
        let ids = arguments.operands
        if arguments.has("all") {
            guard ids.isEmpty else { throw UsageError("--all means all dead letters: leave the ids out") }
            return nil
        }
        guard !ids.isEmpty else { throw UsageError("name dead letters by the ids that queue dead shows, or --all") }
        for id in ids where !DeadLetterStore.isID(id) {
            throw UsageError("\"\(id)\" is no id of a dead letter: one looks like 1764500000000-0, see queue dead")
        }
        return ids
    }
}

/// Tells what became of dead letters, and remembers whether all went well.
final class DeadLetterReport {
    private let isJSON: Bool
    private(set) var count = 0
    private(set) var hasFailed = false

    init(isJSON: Bool) {
        self.isJSON = isJSON
    }

    func tell(_ id: String, _ fate: DeadLetterStore.Fate) {
        count += 1
        let isGood =
            switch fate {
            case .replayed, .dropped: true
            case .unusable, .missing: false
            }
        if !isGood { hasFailed = true }
        if isJSON { StandardStream.output.write(Self.line(id, fate)) } else { say(Self.text(id, fate), isGood) }
    }

    private func say(_ text: String, _ isGood: Bool) {
        let stream = isGood ? StandardStream.output : StandardStream.error
        stream.write(text + "\n")
    }

    static func line(_ id: String, _ fate: DeadLetterStore.Fate) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("id")
        json.string(id)
        json.key("outcome")
        switch fate {
        case .replayed(let entry):
            json.string("replayed")
            json.key("entry")
            json.string(entry)
        case .dropped: json.string("dropped")
        case .unusable: json.string("unusable")
        case .missing: json.string("missing")
        }
        json.endObject()
        return json.bytes + [0x0A]
    }

    private static func text(_ id: String, _ fate: DeadLetterStore.Fate) -> String {
        switch fate {
        case .replayed(let entry): "\(id) is back in the queue as \(entry)"
        case .dropped: "\(id) is deleted"
        case .unusable: "\(id) stays: it is no message, and can only be dropped"
        case .missing: "there is no dead letter \(id)"
        }
    }
}

extension Invocation {
    /// Connects to Redis, runs the body with the dead letters, and waits for its end.
    func withDeadLetters<Value: Sendable>(
        _ body: @escaping @Sendable (DeadLetterStore) async throws -> Value
    ) throws -> Value {
        let keys = RedisKeys(prefix: settings.prefix)
        return try withRedis("queue") { try await body(DeadLetterStore(client: $0, keys: keys)) }
    }

    /// Does something to the dead letters that the command line names, by `one`, or to all, by `all`; tells of each.
    func changeDeadLetters(
        one: @escaping @Sendable (DeadLetterStore, _ id: String) async throws -> DeadLetterStore.Fate,
        all:
            @escaping @Sendable (DeadLetterStore, _ tell: ([(String, DeadLetterStore.Fate)]) -> Void) async throws ->
            Void
    ) throws -> ExitCode {
        let ids = try DeadLetterOptions.ids(arguments)
        let isJSON = arguments.has("json")
        return try withDeadLetters { store in
            let report = DeadLetterReport(isJSON: isJSON)
            if let ids {
                for id in ids { report.tell(id, try await one(store, id)) }
            } else {
                try await all(store) { for (id, fate) in $0 { report.tell(id, fate) } }
                if report.count == 0, !isJSON { StandardStream.output.write("there are no dead letters\n") }
            }
            return report.hasFailed ? .failed : .good
        }
    }
}
