import Transport

/// `demo`: all of it on one machine, with nothing set up and nothing left behind.
enum DemoCommand: Command {
    static let specification = CommandSpecification(
        name: "demo",
        summary: "everything on this machine: Redis, stand-ins for APNs and FCM, a worker, two devices, one message",
        options: [Option("keep", nil, "stay, print commands to try, and end on Ctrl-C")],
        notes: [
            """
            Starts its own redis-server on a unix socket in a temporary folder, the simulator and a worker, with no \
            setting or credential of yours. Everything is ended and removed again, however the demo ends.
            """
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        // Before the first thread: so Ctrl-C ends the demo in order, and not in the middle of a step.
        Signals.block()
        let interruption = try Interruption()
        let demo = try Demo(path: invocation.environment["PATH"] ?? "/usr/bin:/bin", interruption: interruption)
        defer { demo.stop() }
        try demo.start()
        try demo.register()
        try demo.publish()
        try demo.showReceived()
        if invocation.arguments.has("keep") { try demo.stay() }
        return .good
    }
}
