import Transport
import Worker

/// `queue drop`: delete dead letters.
///
/// With `--json` one line for each: `{"id":"…","outcome":"dropped"}`; the other outcome: `missing`. Ends with 1
/// if one could not be deleted.
enum QueueDropCommand: Command {
    static let specification = CommandSpecification(
        name: "queue drop",
        summary: "delete dead letters",
        operands: "ID …",
        operandCount: 0...1000,
        options: [DeadLetterOptions.all, DeadLetterOptions.json],
        settings: .redis
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let ids = try DeadLetterOptions.ids(invocation.arguments)
        let isJSON = invocation.arguments.has("json")
        return try invocation.withDeadLetters { store in
            let report = DeadLetterReport(isJSON: isJSON)
            if let ids {
                for id in ids { report.tell(id, try await store.drop(id)) }
            } else {
                try await store.dropAll { for (id, fate) in $0 { report.tell(id, fate) } }
                if report.count == 0, !isJSON { StandardStream.output.write("there are no dead letters\n") }
            }
            return report.hasFailed ? .failed : .good
        }
    }
}
