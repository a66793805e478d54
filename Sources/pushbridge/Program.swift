import Encoding
import Transport
import Worker

/// Finds the command, reads its settings, runs it, and says what went wrong.
struct Program {
    static let version = "0.1.0"

    let environment: [String: String]

    /// Runs the arguments that follow the program's name.
    func run(_ arguments: [String]) -> ExitCode {
        switch CommandTable.match(arguments) {
        case .command(let command, let arguments):
            return run(command, arguments)
        case .group(let group, let arguments):
            return run(group: group, arguments)
        case .none:
            return runAlone(arguments)
        }
    }

    /// What there is without a command.
    private func runAlone(_ arguments: [String]) -> ExitCode {
        switch arguments.first {
        case "--help", "-h", "help":
            return print(Help.program)
        case "--version":
            return print("pushbridge \(Self.version)\n")
        case "--help-settings", "--help-settings=markdown":
            return print(SettingsText.markdown)
        case nil:
            StandardStream.error.write(Help.program)
            return .usage
        case let name? where name.hasPrefix("-"):
            return refuse("there is no option \(Printable.value(name)) here; the command comes first", help: "--help")
        case let name?:
            let suggestion = NearestName.suggestion(for: name, among: CommandTable.summaries.map(\.name))
            return refuse("there is no command \"\(Printable.value(name))\"\(suggestion)", help: "--help")
        }
    }

    /// The first word of a command of two words, without a second that fits.
    private func run(group: String, _ arguments: [String]) -> ExitCode {
        switch arguments.first {
        case "--help", "-h":
            return print(Help.group(group))
        case nil:
            StandardStream.error.write(Help.group(group))
            return .usage
        case let word?:
            let words = CommandTable.commands(inGroup: group).map {
                String($0.specification.name.dropFirst(group.count + 1))
            }
            let suggestion = NearestName.suggestion(for: word, among: words, prefix: "\(group) ")
            let shown = Printable.value(word)
            return refuse("there is no command \"\(group) \(shown)\"\(suggestion)", help: "\(group) --help")
        }
    }

    private func run(_ command: any Command.Type, _ arguments: [String]) -> ExitCode {
        let specification = command.specification
        do {
            let arguments = try Arguments(arguments, for: specification)
            if arguments.asksForHelp { return print(Help.command(specification)) }
            return try command.run(invocation(arguments, specification))
        } catch let error as UsageError {
            return refuse("\(specification.name): \(error)", help: "\(specification.name) --help")
        } catch let problems as Settings.Problems {
            return refuse(problems)
        } catch {
            StandardStream.error.write("pushbridge \(specification.name): \(Printable.escaped("\(error)"))\n")
            return .failed
        }
    }

    private func invocation(_ arguments: Arguments, _ specification: CommandSpecification) throws -> Invocation {
        let settings =
            if let scope = specification.settings {
                try Settings(environment: environment, flags: arguments.settings, scope: scope)
            } else {
                try Settings(environment: [:], scope: [])
            }
        let log = Log(level: settings.logLevel, format: settings.logFormat)
        for warning in settings.warnings {
            log.warning("check the settings", ["warning": warning])
        }
        return Invocation(arguments: arguments, settings: settings, log: log, environment: environment)
    }

    private func print(_ text: String) -> ExitCode {
        StandardStream.output.write(text) ? .good : .failed
    }

    private func refuse(_ sentence: String, help: String) -> ExitCode {
        StandardStream.error.write("pushbridge: \(Printable.escaped(sentence))\nSee: pushbridge \(help)\n")
        return .usage
    }

    private func refuse(_ problems: Settings.Problems) -> ExitCode {
        let count = problems.sentences.count
        let head = count == 1 ? "a setting is wrong" : "\(count) settings are wrong"
        let lines = problems.sentences.map { "  \(Printable.escaped($0))\n" }.joined()
        StandardStream.error.write("pushbridge: \(head):\n\(lines)")
        return .settings
    }
}
