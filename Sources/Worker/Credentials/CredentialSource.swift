package import Transport

/// Where the credentials come from: what settings and files said, to be read again.
///
/// Any thread; reading blocks.
package struct CredentialSource: Sendable {
    /// What reading gave, and the files that it depends on.
    package struct Reading: Sendable {
        package let credentials: [Credential]
        /// What is allowed and yet unwise, one sentence each.
        package let warnings: [String]
        /// Everything that is wrong, one sentence each; then there are no credentials.
        package let problems: [String]
        /// The files that were read, as they were directly before; nil: not there.
        package let files: [String: FileStamp?]
    }

    private static let settings: [Setting] = [
        .apnsKey, .apnsKeyID, .apnsTeamID, .apnsCertificate, .apnsCertificatePassword, .fcmServiceAccount, .credentials,
    ]

    private let environment: [String: String]
    private let flags: [String: String]
    private let scope: Setting.Scope

    init(environment: [String: String], flags: [String: String], scope: Setting.Scope) {
        let variables = Set(Self.settings.flatMap { [$0.variable, $0.fileVariable] } + [SettingsReader.googleVariable])
        let names = Set(Self.settings.flatMap { [$0.flag, $0.fileFlag].compactMap(\.self) })
        self.environment = environment.filter { variables.contains($0.key) }
        self.flags = flags.filter { names.contains($0.key) }
        self.scope = scope
    }

    /// Reads them as at the start; `unixSeconds` is the wall clock.
    package func read(unixSeconds: Int64) -> Reading {
        let files = FilesRead()
        var reader = SettingsReader(environment: environment, flags: flags, unixSeconds: unixSeconds) { path in
            files.note(path)
            return Settings.readFile(path)
        }
        let credentials = CredentialSettings.read(&reader, scope: scope)
        return Reading(
            credentials: reader.problems.isEmpty ? credentials : [],
            warnings: reader.warnings,
            problems: reader.problems,
            files: files.stamps
        )
    }

    /// The files that one reading has read.
    final class FilesRead {
        private(set) var stamps: [String: FileStamp?] = [:]

        /// A file is read now.
        func note(_ path: String) { stamps[path] = FileStamp(of: path) }
    }
}

extension CredentialSource.Reading {
    /// Whether any of the files is another one now.
    package var isOutdated: Bool {
        files.contains { FileStamp(of: $0.key) != $0.value }
    }
}
