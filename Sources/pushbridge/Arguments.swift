import Worker

/// The arguments of one command, read by its specification.
struct Arguments {
    /// What is no option, in order.
    private(set) var operands: [String] = []
    /// Flags of settings: names without hyphens and their values.
    private(set) var settings: [String: String] = [:]
    /// Whether `--help` or `-h` is among them; nothing else is checked then.
    private(set) var asksForHelp = false
    private var values: [String: [String]] = [:]

    /// Reads what follows the command's name.
    init(_ arguments: [String], for specification: CommandSpecification) throws(UsageError) {
        asksForHelp = arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
        guard !asksForHelp else { return }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                break
            }
            if argument.hasPrefix("-"), argument != "-" {
                try readOption(argument, &rest, specification)
            } else {
                operands.append(argument)
            }
        }
        try checkCount(specification)
    }

    /// Whether an option was given.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The value of an option.
    subscript(name: String) -> String? { values[name]?.last }

    /// All values of an option that repeats.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// The value of an option that must be there.
    func required(_ name: String) throws(UsageError) -> String {
        guard let value = self[name] else { throw UsageError("--\(name) is missing") }
        return value
    }

    /// The value of an option as a whole number.
    func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            let bounds = range == Int.min...Int.max ? "" : " from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("--\(name) is \(text), and may be a whole number\(bounds)")
        }
        return number
    }

    /// The value of an option as one of an enumeration's raw values; the default without it.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, default standard: Choice) throws(UsageError)
        -> Choice where Choice.RawValue == String
    {
        guard let text = self[name] else { return standard }
        guard let choice = Choice(rawValue: text.lowercased()) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--\(name) is \(text), and may be one of \(choices)")
        }
        return choice
    }

    // MARK: Reading

    private mutating func readOption(
        _ argument: String,
        _ rest: inout ArraySlice<String>,
        _ specification: CommandSpecification
    ) throws(UsageError) {
        guard argument.hasPrefix("--") else {
            throw UsageError(
                "there is no option \(argument); options have two hyphens, and -- comes before an operand with one"
            )
        }
        let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map(String.init) ?? ""
        let attached = parts.count == 2 ? String(parts[1]) : nil
        if let option = specification.options.first(where: { $0.name == name }) {
            let value = try read(name, placeholder: option.placeholder, attached, &rest)
            guard option.repeats || values[name] == nil else { throw UsageError("--\(name) is given twice") }
            values[name, default: []].append(value)
        } else if let setting = specification.settingFlags.first(where: { $0.flag == name || $0.fileFlag == name }) {
            let placeholder = name == setting.flag ? setting.placeholder : "FILE"
            let value = try read(name, placeholder: placeholder, attached, &rest)
            guard settings.updateValue(value, forKey: name) == nil else { throw UsageError("--\(name) is given twice") }
        } else {
            throw UsageError(Self.unknown(name, specification))
        }
    }

    private func read(
        _ name: String,
        placeholder: String?,
        _ attached: String?,
        _ rest: inout ArraySlice<String>
    ) throws(UsageError) -> String {
        guard let placeholder else {
            guard attached == nil else { throw UsageError("--\(name) takes no value") }
            return ""
        }
        if let attached { return attached }
        guard let next = rest.first, !next.hasPrefix("--") else {
            throw UsageError(
                "--\(name) needs a value: --\(name) \(placeholder), or --\(name)=… if it begins with hyphens"
            )
        }
        rest.removeFirst()
        return next
    }

    private func checkCount(_ specification: CommandSpecification) throws(UsageError) {
        let count = specification.operandCount
        if operands.count < count.lowerBound {
            throw UsageError("\(specification.operands) is missing")
        }
        if operands.count > count.upperBound {
            let extra = operands[count.upperBound]
            throw UsageError("\"\(extra)\" is one argument too many")
        }
    }

    private static func unknown(_ name: String, _ specification: CommandSpecification) -> String {
        if let (setting, _) = SettingsTable.setting(forFlag: name) {
            return "\(specification.name) does not use the setting --\(name) (\(setting.variable))"
        }
        if let setting = SettingsTable.all.first(where: {
            $0.isSecret && "\($0.fileFlag.dropLast("-file".count))" == name
        }) {
            return
                "a secret is no argument, since others can see those: use --\(setting.fileFlag) or \(setting.variable)"
        }
        let names =
            specification.options.map(\.name)
            + specification.settingFlags.flatMap { [$0.flag, $0.fileFlag].compactMap { $0 } } + ["help"]
        return "there is no option --\(name)" + NearestName.suggestion(for: name, among: names, prefix: "--")
    }
}
