import Worker

/// The texts of `--help`, made from the tables of commands, options and settings.
enum Help {
    /// What `pushbridge --help` prints.
    static var program: String {
        """
        Sends a Redis publish to iOS and Android devices, through APNs and FCM.

        Usage: pushbridge COMMAND [OPTION …]

        Commands:
        \(table(CommandTable.summaries.map { ("  \($0.name)", $0.summary) }))
        pushbridge COMMAND --help   explains a command
        pushbridge --help-settings  prints all settings as a table
        pushbridge --version        prints the version

        Exit codes: 0 good, 1 failed, 2 wrong use, 78 wrong settings.

        """
    }

    /// What `pushbridge devices --help` prints.
    static func group(_ group: String) -> String {
        let commands = CommandTable.commands(inGroup: group).map { $0.specification }
        return """
            Usage: pushbridge \(group) COMMAND [OPTION …]

            Commands:
            \(table(commands.map { ("  \($0.name)", $0.summary) }))
            pushbridge \(group) COMMAND --help   explains one

            """
    }

    /// What `pushbridge COMMAND --help` prints.
    static func command(_ specification: CommandSpecification) -> String {
        let operands = specification.operands.isEmpty ? "" : " \(specification.operands)"
        var text = "Usage: pushbridge \(specification.name)\(operands) [OPTION …]\n\n"
        text += SettingsText.wrapped(
            specification.summary.prefix(1).uppercased() + specification.summary.dropFirst() + "."
        )
        for note in specification.notes {
            text += "\n" + SettingsText.wrapped(note)
        }
        let options = specification.options.map { option in
            ("  --\(option.name)\(option.placeholder.map { " \($0)" } ?? "")", option.summary)
        }
        text += "\nOptions:\n" + table(options + [("  --help", "this text")])
        if !specification.settingFlags.isEmpty {
            let own = Set(specification.options.map(\.name))
            text += "\nSettings, as variables of the environment or as flags, which win.\n"
            text += "X_FILE, or --x-file, reads any X from a file:\n"
            text += SettingsText.list(specification.settingFlags, except: own)
        }
        return text
    }

    private static func table(_ rows: [(String, String)]) -> String {
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { name, summary in
            SettingsText.wrapped(
                summary,
                first: name + String(repeating: " ", count: width - name.count),
                indent: width
            )
        }.joined()
    }
}
