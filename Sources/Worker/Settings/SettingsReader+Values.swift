import Redis
import Transport

extension SettingsReader {
    /// One of the raw values of an enumeration, in any letter case.
    mutating func choose<Choice: RawRepresentable & CaseIterable>(_ setting: Setting, _: Choice.Type) -> Choice?
    where Choice.RawValue == String {
        parse(setting) { text throws(Unfit) in
            guard let choice = Choice(rawValue: text.lowercased()) else { throw Unfit() }
            return choice
        }
    }

    /// What to say when somebody set a path where the text itself is wanted.
    static func pathHint(_ text: String, setting: Setting) -> String? {
        let isShort = text.utf8.count < 1024 && !text.contains { $0.isNewline || $0 == "{" }
        guard isShort, text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("~") else { return nil }
        return "looks like the path of a file, and \(setting.fileVariable) is the one that reads a file"
    }

    /// Where Redis is when nothing is said.
    static let standardRedis: RedisSettings = {
        do {
            return try RedisSettings(url: Setting.redisURL.standard ?? "")
        } catch {
            preconditionFailure("the default of \(Setting.redisURL.variable) is wrong: \(error)")
        }
    }()

    /// Where Redis is; the default also when the setting is wrong, which has been complained about then.
    mutating func redis(extraCA: [UInt8]?) -> RedisSettings {
        let redis = parse(.redisURL) { text throws(Unfit) in
            do {
                return try RedisSettings(url: text, extraCA: extraCA)
            } catch {
                throw Unfit("but \(error)")
            }
        }
        return redis ?? Self.standardRedis
    }

    /// Trusted certificates in PEM.
    mutating func certificates() -> [UInt8]? {
        parse(.ca) { text throws(Unfit) in
            do {
                _ = try TLSClientContext(extraCA: Array(text.utf8))
            } catch {
                throw Unfit(Self.pathHint(text, setting: .ca) ?? "is not usable: \(error)")
            }
            return Array(text.utf8)
        }
    }

    /// Whether anything was said about a setting, right or wrong.
    func isSet(_ setting: Setting) -> Bool {
        [setting.flag, setting.fileFlag].contains { $0.map { flags[$0] != nil } ?? false }
            || [setting.variable, setting.fileVariable].contains { environment[$0]?.isEmpty == false }
    }

    /// Google's own variable for the path of a service account's file.
    static let googleVariable = "GOOGLE_APPLICATION_CREDENTIALS"

    /// The file that Google's own variable names.
    mutating func applicationCredentials() -> Value? {
        let name = Self.googleVariable
        guard let path = environment[name], !path.isEmpty else { return nil }
        return file(path, place: name, isSecret: true)
    }
}
