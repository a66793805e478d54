import Encoding
import Transport

/// Finds the text of each setting, and collects everything that is wrong on the way.
///
/// A flag beats the environment; `X` and `X_FILE` together are an error; an empty variable is as good as none. No I/O
/// but reading the files that settings name.
struct SettingsReader {
    /// Reads a file by its path.
    typealias ReadFile = (String) -> Result<FileContents, FileContents.Failure>

    /// What a setting was set to, and by what.
    struct Value {
        /// How people know it: the variable's or the flag's name.
        let place: String
        let bytes: [UInt8]
        /// The path that the bytes were read from.
        let path: String?
    }

    /// Why a text does not do, as a part of a sentence; empty when "it may be …" says enough.
    struct Unfit: Error {
        let reason: String

        init(_ reason: String = "") {
            self.reason = reason
        }
    }

    static let maximumFileBytes = 1 << 20

    let environment: [String: String]
    let flags: [String: String]
    let readFile: ReadFile
    /// The wall clock.
    let unixSeconds: Int64
    private(set) var problems: [String] = []
    private(set) var warnings: [String] = []

    init(
        environment: [String: String],
        flags: [String: String],
        unixSeconds: Int64,
        readFile: @escaping ReadFile
    ) {
        self.environment = environment
        self.flags = flags
        self.unixSeconds = unixSeconds
        self.readFile = readFile
        refuseUnknownNames()
        refuseUnsupportedSettings()
    }

    mutating func add(problem: String) { problems.append(problem) }

    mutating func add(warning: String) { warnings.append(warning) }

    /// What the variables that all programs share say about proxies.
    mutating func proxyRules() -> ProxyRules {
        do {
            return try ProxyRules(environment)
        } catch {
            add(problem: "\(error)")
            return .none
        }
    }

    // MARK: Values

    /// The value of a setting: from its flag, its file flag, its variable or its file variable.
    mutating func value(of setting: Setting) -> Value? {
        let flag = setting.flag.flatMap { flags[$0] }
        if flag != nil || flags[setting.fileFlag] != nil {
            let names = ("--\(setting.flag ?? "")", "--\(setting.fileFlag)")
            return value(of: setting, text: flag, path: flags[setting.fileFlag], names: names)
        }
        let text = environment[setting.variable].flatMap { $0.isEmpty ? nil : $0 }
        let path = environment[setting.fileVariable].flatMap { $0.isEmpty ? nil : $0 }
        return value(of: setting, text: text, path: path, names: (setting.variable, setting.fileVariable))
    }

    private mutating func value(
        of setting: Setting,
        text: String?,
        path: String?,
        names: (text: String, path: String)
    ) -> Value? {
        func place(_ name: String) -> String {
            name.hasPrefix("--") ? "\(name) (\(setting.variable))" : name
        }
        if text != nil, path != nil {
            add(problem: "\(names.text) and \(names.path) are both set; set one of them")
            return nil
        }
        if let text { return Value(place: place(names.text), bytes: Array(text.utf8), path: nil) }
        guard let path else { return nil }
        return file(path, place: place(names.path), isSecret: setting.isSecret)
    }

    /// The contents of a file that something names.
    mutating func file(_ path: String, place: String, isSecret: Bool) -> Value? {
        switch readFile(path) {
        case .failure(let failure):
            add(problem: "\(place) names the file \(Self.shown(path)), which \(failure.reason)")
            return nil
        case .success(let contents):
            if isSecret, contents.isReadableByOthers {
                add(
                    warning: "\(place): others may read the file \(Self.shown(path)), which holds a secret; "
                        + "let its owner alone read it (chmod 600)"
                )
            }
            return Value(place: place, bytes: contents.bytes, path: path)
        }
    }

    /// The value as text; that of a file without blanks and line breaks around it.
    mutating func text(of setting: Setting) -> (value: Value, text: String)? {
        guard let value = value(of: setting) else { return nil }
        guard let text = String(validating: value.bytes, as: UTF8.self), !text.utf8.contains(0) else {
            add(problem: "\(value.place) is not text in UTF-8; it may be \(setting.allowed)")
            return nil
        }
        guard value.path != nil else {
            guard !text.isEmpty else {
                add(problem: "\(value.place) is empty; it may be \(setting.allowed)")
                return nil
            }
            return (value, text)
        }
        let trimmed = Self.trimmed(text)
        guard !trimmed.isEmpty else {
            add(problem: "\(value.place) names a file that is empty; it may be \(setting.allowed)")
            return nil
        }
        return (value, trimmed)
    }

    /// The parsed value; the default when the setting is not set, and nil when it is wrong and has been complained
    /// about.
    mutating func parse<Parsed>(
        _ setting: Setting,
        _ read: (String) throws(Unfit) -> Parsed
    ) -> Parsed? {
        guard let (value, text) = text(of: setting) else { return nil }
        do {
            return try read(text)
        } catch {
            add(problem: Self.sentence(setting, value: value, text: text, reason: error.reason))
            return nil
        }
    }

    // MARK: Sentences

    /// `X is "y": reason; it may be …`, without the value of a secret.
    static func sentence(_ setting: Setting, value: Value, text: String, reason: String) -> String {
        let source = value.path.map { " (the file \(shown($0)))" } ?? ""
        let ending = "it may be \(setting.allowed)"
        if setting.isHidden { return "\(value.place)\(source) \(reason); \(ending)" }
        let what = "\(value.place)\(source) is \(shown(setting == .redisURL ? withoutPassword(text) : text))"
        return reason.isEmpty ? "\(what); \(ending)" : "\(what), \(reason); \(ending)"
    }

    /// A value in quotation marks, made harmless and cut.
    ///
    /// A private key that stands in the wrong place is not repeated.
    static func shown(_ text: String) -> String {
        text.contains("PRIVATE KEY") ? "a private key" : "\"\(Printable.value(text))\""
    }

    /// A URL without what stands before its `@`, where a password may be, and after its `?`.
    static func withoutPassword(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@") else { return String(url.prefix { $0 != "?" }) }
        let scheme = url.prefix { $0.isLetter || $0 == "+" }
        let start = url.hasPrefix("\(scheme)://") ? "\(scheme)://" : ""
        return start + "***" + url[at...].prefix { $0 != "?" }
    }

    static func trimmed(_ text: String) -> String {
        let start = text.drop { $0.isWhitespace }
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...last])
    }

    // MARK: Names

    private mutating func refuseUnknownNames() {
        let known = Set(SettingsTable.variables)
        for name in environment.keys.sorted()
        where name.hasPrefix(Setting.variablePrefix) && !known.contains(name)
            && !SettingsTable.isMadeByKubernetes(name)
        {
            add(problem: Self.unknown(name))
        }
    }

    private static func unknown(_ name: String) -> String {
        let known = SettingsTable.variables.map { String($0.dropFirst(Setting.variablePrefix.count)) }
        let wanted = String(name.dropFirst(Setting.variablePrefix.count))
        let suggestion = NearestName.suggestion(for: wanted, among: known, prefix: Setting.variablePrefix)
        let isOfService = name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") || name.hasSuffix("_PORT")
        let cause =
            isOfService ? "; if Kubernetes made it for a service, set enableServiceLinks: false in the pod" : ""
        return "\(Printable.value(name)) is no setting\(suggestion)\(cause) (pushbridge worker --help lists all)"
    }

    private mutating func refuseUnsupportedSettings() {
        for setting in SettingsTable.all where !setting.isSupported {
            let variables = [setting.variable, setting.fileVariable].filter { environment[$0]?.isEmpty == false }
            let names = [setting.flag, setting.fileFlag].compactMap { $0 }.filter { flags[$0] != nil }.map { "--\($0)" }
            if let name = (names + variables).first {
                let place = name.hasPrefix("--") ? "\(name) (\(setting.variable))" : name
                add(problem: "\(place) is known but not supported yet by this version; leave it unset")
            }
        }
    }
}
