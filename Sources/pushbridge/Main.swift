import Glibc
import Transport

@main
enum Main {
    static func main() {
        // A reader that has gone away is an error of the write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let program = Program(environment: ProcessEnvironment.current)
        let code = program.run(Array(CommandLine.arguments.dropFirst()))
        // Not `exit`: it would take OpenSSL apart while a side thread may still be using it. Nothing here is buffered.
        _exit(code.rawValue)
    }
}
