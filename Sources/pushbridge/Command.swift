import Worker

/// One command of the program: a file of its own, named in ``CommandTable``.
protocol Command {
    /// Its name, its options, its help.
    static var specification: CommandSpecification { get }

    /// Does the work on the main thread; ``waiting(for:)`` runs what is asynchronous.
    ///
    /// Throws ``UsageError`` (exit code 2) or any error that describes itself in a sentence (exit code 1).
    static func run(_ invocation: Invocation) throws -> ExitCode
}

/// What a command looks like from outside; arguments are read and help is written by it.
struct CommandSpecification {
    /// As typed after `pushbridge`: `tail`, `devices add`.
    let name: String
    /// One line in the list of commands.
    let summary: String
    /// How the operands read in the usage line: `TOKEN …`.
    var operands = ""
    /// How many operands there may be.
    var operandCount: ClosedRange<Int> = 0...0
    var options: [Option] = []
    /// The settings that it reads, each of which is a flag too.
    ///
    /// Nil: none at all, not even their names are looked at.
    var settings: Setting.Scope?
    /// Paragraphs for its help.
    var notes: [String] = []

    /// The settings that are flags of this command; an option of the same name comes first.
    var settingFlags: [Setting] {
        guard let settings else { return [] }
        return SettingsTable.all.filter { !$0.scope.isDisjoint(with: settings) }
    }
}

/// An option of one command: `--topic TOPIC` or, without a placeholder, `--json`.
struct Option {
    /// Without the two hyphens.
    let name: String
    /// What stands for the value; nil: the option has none.
    let placeholder: String?
    let summary: String
    /// Whether it may be given more than once.
    let repeats: Bool

    init(_ name: String, _ placeholder: String? = nil, _ summary: String, repeats: Bool = false) {
        self.name = name
        self.placeholder = placeholder
        self.summary = summary
        self.repeats = repeats
    }
}

/// One run of a command.
struct Invocation {
    let arguments: Arguments
    /// The settings of the command's scope; the defaults for a command without settings.
    let settings: Settings
    let log: Log
    let environment: [String: String]
}

/// How the program ends.
enum ExitCode: Int32 {
    case good = 0
    case failed = 1
    /// Wrong use of the command line.
    case usage = 2
    /// Wrong settings; the code of `sysexits.h` for a configuration error.
    case settings = 78
}

/// The command line is wrong: a sentence without a full stop.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The command could not do its work: a sentence without a full stop.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
