/// The settings table as people read it: in `--help` and in README.md.
package enum SettingsText {
    /// The columns of a terminal that help keeps to.
    private static let columns = 100

    /// The table in README.md.
    package static var markdown: String {
        let rows = SettingsTable.all.map { setting in
            "| `\(setting.variable)` | \(markdownDefault(setting)) | \(setting.summary)\(suffix(setting)) |\n"
        }
        return "| variable | default | |\n| --- | --- | --- |\n" + rows.joined()
    }

    /// One entry for each setting: its variable, its flag, what it is for.
    ///
    /// `except` are flags that mean something else to the command.
    package static func list(_ settings: [Setting], except own: Set<String> = []) -> String {
        settings.map { setting in
            let isFile = setting.isSecret || setting == .ca
            let flag = isFile ? "--\(setting.fileFlag) FILE" : "--\(setting.flag ?? "") \(setting.placeholder)"
            let isTaken = setting.flag.map(own.contains) ?? false
            let standard = setting.standard.map { "; default: \($0)" } ?? ""
            return "  \(setting.variable)\(isTaken ? "" : ", \(flag)")\n"
                + wrapped(plain(setting.summary + standard + suffix(setting)), first: "      ", indent: 6)
        }.joined()
    }

    /// A text broken into lines; `first` begins the first line, blanks begin the others.
    package static func wrapped(_ text: some StringProtocol, first: String = "", indent: Int = 0) -> String {
        var lines: [String] = []
        var line = first
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = String(repeating: " ", count: indent)
                isEmpty = true
            }
            line += isEmpty ? String(word) : " \(word)"
            isEmpty = false
        }
        return (lines + [line]).map { $0 + "\n" }.joined()
    }

    private static func suffix(_ setting: Setting) -> String {
        setting.isSupported ? "" : " (not supported yet)"
    }

    private static func markdownDefault(_ setting: Setting) -> String {
        guard let standard = setting.standard else { return "" }
        return standard.contains(" ") ? standard : "`\(standard)`"
    }

    private static func plain(_ text: String) -> String {
        text.filter { $0 != "`" }
    }
}
