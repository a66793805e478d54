import Worker

/// `pushbridge worker`: hears messages, sends pushes, until it is told to stop.
enum WorkerCommand: Command {
    static let specification = CommandSpecification(
        name: "worker",
        summary: "the worker: hears messages on Redis and sends them as pushes",
        settings: .all,
        notes: [
            "SIGTERM or SIGINT stops it: it takes no more messages, finishes what is in flight, and ends with 0."
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        throw CommandError("this build has no worker yet")
    }
}
