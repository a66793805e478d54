/// One setting: its names, its default, and what people read about it.
///
/// The environment variable, the flag, `--help` and the table in README.md all come from here; what its text means is
/// decided in ``Settings``.
package struct Setting: Hashable, Sendable {
    /// What a setting is for; a command asks for the scopes that it uses.
    package struct Scope: OptionSet, Hashable, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let redis = Scope(rawValue: 1)
        package static let ingest = Scope(rawValue: 2)
        package static let traces = Scope(rawValue: 4)
        package static let apns = Scope(rawValue: 8)
        package static let fcm = Scope(rawValue: 16)
        package static let http = Scope(rawValue: 32)
        package static let process = Scope(rawValue: 64)
        package static let log = Scope(rawValue: 128)
        package static let all: Scope = [.redis, .ingest, .traces, .apns, .fcm, .http, .process, .log]
    }

    /// What all variables begin with.
    package static let variablePrefix = "PUSHBRIDGE_"

    /// The name without prefix: `REDIS_URL`.
    package let name: String
    /// What stands for the value in `--help`: `URL`.
    package let placeholder: String
    /// The default as people read it; nil: none.
    package let standard: String?
    /// The end of the sentence "it may be …".
    package let allowed: String
    /// What it is for, in one line.
    package let summary: String
    package let scope: Scope
    /// Never shown, and no flag but the one that names a file.
    package let isSecret: Bool
    /// False: the name is known, but setting it ends the start.
    package let isSupported: Bool

    init(
        _ name: String,
        _ placeholder: String,
        standard: String? = nil,
        allowed: String,
        summary: String,
        scope: Scope,
        isSecret: Bool = false,
        isSupported: Bool = true
    ) {
        self.name = name
        self.placeholder = placeholder
        self.standard = standard
        self.allowed = allowed
        self.summary = summary
        self.scope = scope
        self.isSecret = isSecret
        self.isSupported = isSupported
    }

    /// Whether messages about it leave its value out: a secret, or a text where a secret may stand by mistake.
    package var isHidden: Bool { isSecret || self == .ca }
    /// The environment variable, as `PUSHBRIDGE_REDIS_URL`.
    package var variable: String { Self.variablePrefix + name }
    /// The variable that names a file, as `PUSHBRIDGE_REDIS_URL_FILE`.
    package var fileVariable: String { variable + "_FILE" }
    /// The flag without its two hyphens, as `redis-url`; secrets have none.
    package var flag: String? { isSecret ? nil : hyphenated }
    /// The flag that names a file, as `redis-url-file`.
    package var fileFlag: String { hyphenated + "-file" }

    private var hyphenated: String {
        String(name.lowercased().map { $0 == "_" ? "-" : $0 })
    }
}
