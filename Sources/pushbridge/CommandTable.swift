/// All commands, in the order of `pushbridge --help`.
enum CommandTable {
    static var all: [any Command.Type] {
        [
            WorkerCommand.self,
            DevicesAddCommand.self,
            DevicesRemoveCommand.self,
            DevicesListCommand.self,
            DevicesReplaceCommand.self,
            DevicesOnCommand.self,
            DevicesRemovedCommand.self,
            DevicesRestoreCommand.self,
            PublishCommand.self,
            SendCommand.self,
            TailCommand.self,
            QueueCommand.self,
            QueueDeadCommand.self,
            QueueReplayCommand.self,
            QueueDropCommand.self,
            SimulatorCommand.self,
            DemoCommand.self,
        ]
    }

    /// What the first word of commands of two words stands for.
    static let groups = [
        "devices": "register, remove, list and replace devices; bring removed ones back",
        "queue": "how full the queue is and who serves it; list, replay and drop dead letters",
    ]

    /// What a command line names.
    enum Match {
        /// A command and the arguments that follow its name.
        case command(any Command.Type, arguments: [String])
        /// The first word of several commands, and what follows it.
        case group(String, arguments: [String])
        case none
    }

    static func match(_ arguments: [String]) -> Match {
        guard let first = arguments.first else { return .none }
        if let second = arguments.dropFirst().first, let command = command(named: "\(first) \(second)") {
            return .command(command, arguments: Array(arguments.dropFirst(2)))
        }
        if let command = command(named: first) {
            return .command(command, arguments: Array(arguments.dropFirst()))
        }
        if groups[first] != nil { return .group(first, arguments: Array(arguments.dropFirst())) }
        return .none
    }

    /// The commands whose first word is that of a group.
    static func commands(inGroup group: String) -> [any Command.Type] {
        all.filter { $0.specification.name.hasPrefix("\(group) ") }
    }

    /// The first words of all commands, each once, with what they do.
    static var summaries: [(name: String, summary: String)] {
        var seen: Set<String> = []
        return all.compactMap { command in
            let specification = command.specification
            let first = String(specification.name.prefix { $0 != " " })
            guard seen.insert(first).inserted else { return nil }
            return (first, groups[first] ?? specification.summary)
        }
    }

    private static func command(named name: String) -> (any Command.Type)? {
        all.first { $0.specification.name == name }
    }
}
