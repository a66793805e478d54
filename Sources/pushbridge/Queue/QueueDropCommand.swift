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
        try invocation.changeDeadLetters { store, id in
            try await store.drop(id)
        } all: { store, tell in
            try await store.dropAll(tell)
        }
    }
}
