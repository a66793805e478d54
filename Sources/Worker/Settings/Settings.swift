package import Redis
package import Transport

/// What the program was told: environment variables and flags, checked and typed.
///
/// Made once at the start and immutable. Everything that is wrong is reported at once.
package struct Settings: Sendable {
    /// Everything that is wrong, one sentence each; the program ends with 78.
    package struct Problems: Error, Equatable, Sendable {
        package let sentences: [String]
    }

    package var redis: RedisSettings
    package var prefix = "push:"
    /// Patterns to subscribe to; at least one.
    package var channels = ["*"]
    /// May contain `{channel}`; see ``DebugChannel``.
    package var debugChannel = "pndebug"
    package var debug = TraceMode.on
    package var apns: APNsSettings
    package var fcm: FCMSettings
    /// Those that one may be chosen from for each push; see ``CredentialTable``.
    package var credentials: [Credential] = []
    /// To read them again.
    package let credentialSource: CredentialSource
    /// What was read at the start, with its files, from which changes are told.
    package private(set) var firstReading: CredentialSource.Reading
    /// Certificates to trust besides the system's, PEM.
    package var extraCA: [UInt8]?
    /// How providers and the token endpoint are reached.
    package var proxy = ProxyRules.none
    /// Nil: off.
    package var httpAddress: ListenAddress? = ListenAddress.standard
    /// Whether somebody chose the address, so that it must be had.
    package private(set) var isHTTPAddressSet = false
    package var drain = Duration.seconds(25)
    /// The share of doubtful answers above which removals by them stop.
    package var removalBrake = 0.2
    /// The length of the stream of removals; 0: there is none.
    package var removedEvents = 0
    package var logLevel = Log.Level.info
    package var logFormat = Log.Format.text
    /// What is allowed and yet unwise, one sentence each; to be logged.
    package private(set) var warnings: [String] = []

    /// Reads the settings of a scope.
    ///
    /// Where Redis is, certificates and credentials are read only if they are of the scope; wrong values of everything
    /// else, unknown names and unsupported ones are refused for every scope.
    package init(
        environment: [String: String],
        flags: [String: String] = [:],
        scope: Setting.Scope = .all,
        unixSeconds: Int64 = currentUnixMilliseconds() / 1000,
        readFile: @escaping (String) -> Result<FileContents, FileContents.Failure> = Settings.readFile
    ) throws(Problems) {
        let files = CredentialSource.FilesRead()
        credentialSource = CredentialSource(environment: environment, flags: flags, scope: scope)
        var reader = SettingsReader(
            environment: environment,
            flags: flags,
            unixSeconds: unixSeconds
        ) { path in
            files.note(path)
            return readFile(path)
        }
        firstReading = .init(credentials: [], warnings: [], problems: [], files: [:])
        apns = APNsSettings(&reader)
        fcm = FCMSettings(&reader)
        extraCA = scope.isDisjoint(with: Setting.ca.scope) ? nil : reader.certificates()
        redis = scope.contains(.redis) ? reader.redis(extraCA: extraCA) : SettingsReader.standardRedis
        readPlain(&reader)
        if !scope.isDisjoint(with: [.apns, .fcm]) { proxy = reader.proxyRules() }
        credentials = CredentialSettings.read(&reader, scope: scope)
        if scope.isSuperset(of: [.apns, .fcm]), credentials.isEmpty {
            reader.add(
                warning: "neither an APNs key or certificate nor an FCM service account is set: no push can be sent"
            )
        }
        guard reader.problems.isEmpty else { throw Problems(sentences: reader.problems) }
        warnings = reader.warnings
        firstReading = .init(credentials: credentials, warnings: warnings, problems: [], files: files.stamps)
    }

    /// What messages are planned with.
    package var plan: PlanSettings {
        PlanSettings(defaultTopic: apns.defaultTopic, defaultEnvironment: apns.defaultEnvironment)
    }

    /// Reads a file that a setting names; at most 1 MiB.
    package static func readFile(_ path: String) -> Result<FileContents, FileContents.Failure> {
        do {
            return .success(try FileContents.read(path, maximumBytes: SettingsReader.maximumFileBytes))
        } catch {
            return .failure(error)
        }
    }

    /// The settings whose texts can be judged without anything else.
    private mutating func readPlain(_ reader: inout SettingsReader) {
        reader.parse(.prefix, Self.prefix).map { prefix = $0 }
        reader.parse(.channels, Self.patterns).map { channels = $0 }
        reader.parse(.debugChannel, Self.debugChannel).map { debugChannel = $0 }
        reader.choose(.debug, TraceMode.self).map { debug = $0 }
        reader.parse(.httpAddress, ListenAddress.parse).map { httpAddress = $0 }
        isHTTPAddressSet = reader.isSet(.httpAddress)
        reader.parse(.drainSeconds, Self.seconds).map { drain = $0 }
        reader.parse(.removalBrake, Self.share).map { removalBrake = $0 }
        reader.parse(.removedEvents, Self.length).map { removedEvents = $0 }
        reader.choose(.log, Log.Level.self).map { logLevel = $0 }
        reader.choose(.logFormat, Log.Format.self).map { logFormat = $0 }
        if debugChannel == "\(prefix){queue}:marks" {
            reader.add(problem: "PUSHBRIDGE_DEBUG_CHANNEL is the workers' own control channel; choose another")
        }
    }
}

// MARK: - What a text means

extension Settings {
    private static func prefix(_ text: String) throws(SettingsReader.Unfit) -> String {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x1F && $0.value != 0x7F && $0 != "{" && $0 != "}" }
        guard isPlain, text.utf8.count <= 256 else { throw .init() }
        return text
    }

    private static func patterns(_ text: String) throws(SettingsReader.Unfit) -> [String] {
        let patterns = text.split(separator: ",", omittingEmptySubsequences: false)
            .map { SettingsReader.trimmed(String($0)) }
        guard !patterns.contains("") else { throw .init("where a pattern is empty") }
        return patterns.reduce(into: []) { unique, pattern in
            if !unique.contains(pattern) { unique.append(pattern) }
        }
    }

    private static func debugChannel(_ text: String) throws(SettingsReader.Unfit) -> String {
        let parts = text.split(separator: "{channel}", omittingEmptySubsequences: false)
        guard parts.count <= 2 else { throw .init("which has {channel} more than once") }
        guard parts.contains(where: { !$0.isEmpty }) else {
            throw .init("which makes every channel its own debug channel, so that no message would be looked at")
        }
        return text
    }

    private static func share(_ text: String) throws(SettingsReader.Unfit) -> Double {
        guard let share = Double(text), (0...1).contains(share) else { throw .init() }
        return share
    }

    private static func length(_ text: String) throws(SettingsReader.Unfit) -> Int {
        guard let length = Int(text), (0...10_000_000).contains(length) else { throw .init() }
        return length
    }

    private static func seconds(_ text: String) throws(SettingsReader.Unfit) -> Duration {
        guard let seconds = Int(text), (0...3600).contains(seconds) else { throw .init() }
        return .seconds(seconds)
    }
}

/// Whether traces are published, and how they show device tokens.
package enum TraceMode: String, CaseIterable, Sendable {
    case on
    /// Device tokens are shortened.
    case short
    case off
}

/// Where to listen for HTTP.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    package static let standard = ListenAddress(host: "127.0.0.1", port: 8080)

    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// `.some(nil)` is `off`.
    static func parse(_ text: String) throws(SettingsReader.Unfit) -> ListenAddress? {
        if text.lowercased() == "off" { return nil }
        guard let address = HostAndPort(text), let port = address.port else { throw .init() }
        return ListenAddress(host: address.host, port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
