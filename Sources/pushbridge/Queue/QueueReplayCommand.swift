import Transport
import Worker

/// `queue replay`: put dead letters back into the queue.
///
/// With `--json` one line for each: `{"id":"…","outcome":"replayed","entry":"…"}`; other outcomes: `missing`, `unusable`. Ends with 1
/// if one could not be put back.
enum QueueReplayCommand: Command {
    static let specification = CommandSpecification(
        name: "queue replay",
        summary: "put dead letters back into the queue",
        operands: "ID …",
        operandCount: 0...1000,
        options: [DeadLetterOptions.all, DeadLetterOptions.json],
        settings: .redis,
        notes: [
            "A replayed message is as if received now: its pn_ttl begins anew. It keeps its id, so that APNs requests that "
                + "are repeated have the same apns-id."
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        try invocation.changeDeadLetters { store, id in
            try await store.replay(id)
        } all: { store, tell in
            try await store.replayAll(tell)
        }
    }
}
