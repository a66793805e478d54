import Glibc
import Transport

@main
enum Main {
    static func main() {
        // A reader that has gone away is an error of the write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let program = Program(environment: ProcessEnvironment.current)
        exit(program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
