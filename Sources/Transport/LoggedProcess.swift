/// A server that this process has started, with its output in a file.
///
/// For what must say that it is ready before it is used. Waiting blocks the caller; from any thread.
package final class LoggedProcess: Sendable {
    package let name: String
    package let process: ChildProcess
    private let logPath: String

    /// Starts the program; its output is appended to `<name>.log` in the folder.
    package init(
        _ name: String,
        program: String,
        arguments: [String],
        environment: [String: String],
        folder: TemporaryFolder
    ) throws(TransportError) {
        self.name = name
        logPath = folder.path(of: "\(name).log")
        process = try ChildProcess(
            program,
            arguments,
            environment: environment,
            standardOutput: .file(path: logPath),
            standardError: .file(path: logPath)
        )
    }

    /// What it has written so far.
    package var output: String {
        let bytes = (try? File.read(logPath)) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    /// How it ended; nil while it runs.
    package var exit: ChildProcess.Exit? {
        process.wait(within: .zero)
    }

    /// Waits until it has written the text; an error with its last lines if it ends first, or does not within the
    /// deadline, or if `isCancelled` says so meanwhile.
    package func waitUntilOutput(
        contains text: String,
        within deadline: Duration,
        isCancelled: () -> Bool = { false }
    ) throws(TransportError) {
        let end = LoopInstant.current + deadline
        while !output.contains(text) {
            if isCancelled() { throw .unusable("interrupted") }
            // The wait for its end is the pause between two looks.
            if process.wait(within: .milliseconds(10)) != nil, !output.contains(text) {
                throw .unusable("\(name) ended before it was ready\(lastLines)")
            }
            guard LoopInstant.current < end else {
                throw .deadline("\(name) was not ready within \(deadline)\(lastLines)")
            }
        }
    }

    /// The end of its output, as the end of a sentence.
    private var lastLines: String {
        let lines = output.split(separator: "\n").suffix(4)
        return lines.isEmpty ? ", and said nothing" : "; its last words: " + lines.joined(separator: " / ")
    }
}
