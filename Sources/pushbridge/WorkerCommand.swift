import Gateway
import Transport
import Worker

/// `pushbridge worker`: hears messages, sends pushes, until it is told to stop.
enum WorkerCommand: Command {
    static let specification = CommandSpecification(
        name: "worker",
        summary: "the worker: hears messages on Redis and sends them as pushes",
        settings: .all,
        notes: [
            "SIGHUP makes it read its credentials again; it does so by itself when their files change.",
            "SIGTERM or SIGINT stops it: it takes no more messages, finishes what is in flight, and ends with 0.",
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        Signals.block()
        let loop = try EventLoop()
        let worker = try Worker(settings: invocation.settings, loop: loop, log: invocation.log)
        let interface = try HTTPInterface.open(invocation.settings, worker: worker, loop: loop, log: invocation.log)
        var ending: Worker.Ending?
        worker.start {
            ending = $0
            loop.stop()
        }
        var isStopping = false
        let signals = try Signals(on: loop) { signal in
            if signal == .hangUp { return worker.readCredentialsAgain() }
            if isStopping { return loop.stop() }
            isStopping = true
            worker.stop(within: invocation.settings.drain)
        }
        loop.run()
        signals.close()
        interface?.stop()
        return exitCode(of: ending, log: invocation.log)
    }

    private static func exitCode(of ending: Worker.Ending?, log: Log) -> ExitCode {
        switch ending {
        case .clean:
            log.info("stopped")
            return .good
        case .unfinished(let messages):
            log.warning("stopped before all was done; the rest stays in the queue", ["messages": messages])
            return .good
        case .failed(let reason):
            log.error("the worker cannot work", ["reason": reason])
            return .failed
        case nil:
            log.warning("ended at once by a second signal; what is not done stays in the queue")
            return .failed
        }
    }
}
