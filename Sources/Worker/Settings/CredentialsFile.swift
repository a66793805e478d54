import Encoding

/// Reads `PUSHBRIDGE_CREDENTIALS`: a JSON array, one entry for each credential.
///
/// Every mistake is a sentence that names the entry and its field. Paths count from the folder of the file.
struct CredentialsFile {
    private static let maximumEntries = 1000

    /// How people know the file: the setting, and the path.
    private let place: String
    private let folder: String
    private let bytes: [UInt8]

    /// The credentials of all entries; those that are wrong have been complained about.
    static func read(_ reader: inout SettingsReader) -> [Credential] {
        guard let (value, text) = reader.text(of: .credentials) else { return [] }
        // The text itself, or the path of a file with it.
        if text.hasPrefix("[") || text.hasPrefix("{") {
            return CredentialsFile(reader.described(value), path: value.path, Array(text.utf8)).credentials(&reader)
        }
        guard let file = reader.file(text, place: value.place, isSecret: false) else { return [] }
        return CredentialsFile(reader.described(file), path: text, file.bytes).credentials(&reader)
    }

    private init(_ place: String, path: String?, _ bytes: [UInt8]) {
        self.place = place
        self.bytes = bytes
        folder = path?.lastIndex(of: "/").flatMap { end in path.map { String($0[...end]) } } ?? ""
    }

    private func credentials(_ reader: inout SettingsReader) -> [Credential] {
        let root: JSONValue
        do {
            root = try JSONDocument(bytes).root
        } catch {
            reader.add(problem: "\(place) is not JSON: \(error)")
            return []
        }
        guard root.isArray else {
            reader.add(
                problem: "\(place) is \(root.kind.name); it must be an array, with an object for each credential"
            )
            return []
        }
        var credentials: [Credential] = []
        for (index, value) in root.elements.enumerated() {
            guard index < Self.maximumEntries else {
                reader.add(problem: "\(place) has more than \(Self.maximumEntries) entries")
                break
            }
            let origin = "entry \(index + 1) of \(Setting.credentials.variable)"
            let entry = CredentialEntry(value, place: "\(place), entry \(index + 1)", origin: origin, folder: folder)
            entry.credential(&reader).map { credentials.append($0) }
        }
        warnOfRepetitions(credentials, &reader)
        return credentials
    }

    /// Says where an entry can never be used, since one before it is for the same.
    private func warnOfRepetitions(_ credentials: [Credential], _ reader: inout SettingsReader) {
        var first: [String: String] = [:]
        for credential in credentials {
            for use in credential.exactUses {
                if let former = first[use.key] {
                    reader.add(
                        warning: "\(place): \(credential.origin) is for \(use.text), and so is \(former): it wins"
                    )
                } else {
                    first[use.key] = credential.origin
                }
            }
        }
    }
}

/// One entry, and what is wrong with it.
private struct CredentialEntry {
    private static let kinds = ["apns-key", "apns-certificate", "fcm"]

    let value: JSONValue
    /// Begins the sentences about it.
    let place: String
    let origin: String
    let folder: String

    init(_ value: JSONValue, place: String, origin: String, folder: String) {
        self.value = value
        self.place = place
        self.origin = origin
        self.folder = folder
    }

    /// The credential; nil when something is wrong, which has been complained about then.
    func credential(_ reader: inout SettingsReader) -> Credential? {
        guard value.isObject else {
            reader.add(problem: "\(place) is \(value.kind.name); it must be an object")
            return nil
        }
        let kinds = Self.kinds.joined(separator: ", ")
        guard let kind = text("kind", needed: "one of \(kinds)", &reader) else { return nil }
        switch kind {
        case "apns-key": return key(&reader)
        case "apns-certificate": return certificate(&reader)
        case "fcm": return project(&reader)
        default:
            let hint = NearestName.suggestion(for: kind, among: Self.kinds)
            reader.add(problem: "\(place): kind is \(SettingsReader.shown(kind))\(hint); it may be \(kinds)")
            return nil
        }
    }

    private func key(_ reader: inout SettingsReader) -> Credential? {
        refuseOthers(than: ["kind", "key_file", "key_id", "team_id", "environments", "topics"], &reader)
        let file = file("key_file", needed: "the path of the .p8 file from Apple", &reader)
        let key = file.flatMap { reader.signingKey($0) }
        let keyID = identifier("key_id", isNeeded: false, &reader) ?? file?.path.flatMap(APNsCredential.keyID(inPath:))
        if keyID == nil, file != nil, !has("key_id") {
            reader.add(problem: "\(place): key_id is missing, and key_file is not named AuthKey_<ID>.p8 as Apple does")
        }
        let teamID = identifier("team_id", isNeeded: true, &reader)
        let environments = environments(&reader)
        let topics = patterns("topics", isFit: Self.isTopicPattern, &reader)
        guard let key, let keyID, let teamID, let environments, let topics else { return nil }
        let credential = APNsCredential(key: key, keyID: keyID, teamID: teamID)
        return Credential(.apnsKey(credential), origin: origin, environments: environments, topics: topics)
    }

    private func certificate(_ reader: inout SettingsReader) -> Credential? {
        refuseOthers(than: ["kind", "file", "password_file", "environments", "topics"], &reader)
        let file = file("file", needed: "the path of a .p12, or of PEM with its key", &reader)
        let password = has("password_file") ? self.file("password_file", needed: "", &reader) : nil
        let environments = environments(&reader)
        let topics = patterns("topics", isFit: Self.isTopicPattern, &reader)
        guard let file, has("password_file") == (password != nil) else { return nil }
        let certificate = reader.certificate(
            file,
            password: password.map(SettingsReader.password),
            passwordHint: "password_file names the file with its password"
        )
        guard let certificate, let environments, let topics else { return nil }
        guard !environments.isDisjoint(with: certificate.environments) else {
            let own = certificate.environments.map(\.rawValue).sorted().joined(separator: " and ")
            reader.add(problem: "\(place): environments does not have \(own), which the certificate is for")
            return nil
        }
        warnOfUncovered(topics, certificate, &reader)
        return Credential(
            .apnsCertificate(certificate),
            origin: origin,
            environments: environments,
            topics: topics
        )
    }

    private func project(_ reader: inout SettingsReader) -> Credential? {
        refuseOthers(than: ["kind", "service_account_file", "channels"], &reader)
        let file = file("service_account_file", needed: "the path of a service account's key file", &reader)
        let account = file.flatMap { reader.serviceAccount($0) }
        let channels = patterns("channels", isFit: { !$0.isEmpty }, &reader)
        guard let account, let channels else { return nil }
        return Credential(.fcm(account), origin: origin, channels: channels)
    }

    /// A topic that is given and not in the certificate can never be sent.
    private func warnOfUncovered(
        _ topics: [GlobPattern],
        _ certificate: APNsCertificate,
        _ reader: inout SettingsReader
    ) {
        for topic in topics where topic.isExact && !certificate.covers(topic.description) {
            let own = Credential.list(certificate.topics)
            reader.add(warning: "\(place): topics has \(topic.description), and the certificate is for \(own)")
        }
    }

    // MARK: Fields

    private func has(_ name: String) -> Bool {
        member(name) != nil
    }

    /// The value of a field; `null` is as good as none.
    private func member(_ name: String) -> JSONValue? {
        let found = value.members.filter { $0.key.string == name }.last?.value
        return found?.isNull == true ? nil : found
    }

    private func refuseOthers(than known: [String], _ reader: inout SettingsReader) {
        var seen: Set<String> = []
        for member in value.members {
            let name = member.key.string ?? ""
            guard known.contains(name) else {
                let hint = NearestName.suggestion(for: name, among: known)
                let all = known.joined(separator: ", ")
                reader.add(problem: "\(place) has the field \(SettingsReader.shown(name))\(hint); it may have \(all)")
                continue
            }
            if !seen.insert(name).inserted { reader.add(problem: "\(place) has \(name) twice") }
        }
    }

    private func text(_ name: String, needed: String, _ reader: inout SettingsReader) -> String? {
        guard let member = member(name) else {
            reader.add(problem: "\(place): \(name) is missing; it must be \(needed)")
            return nil
        }
        guard let text = member.string else {
            reader.add(problem: "\(place): \(name) is \(member.kind.name); it must be a text")
            return nil
        }
        return text
    }

    private func file(_ name: String, needed: String, _ reader: inout SettingsReader) -> SettingsReader.Value? {
        guard let path = text(name, needed: needed, &reader) else { return nil }
        guard !path.isEmpty else {
            reader.add(problem: "\(place): \(name) is empty")
            return nil
        }
        return reader.file(path.hasPrefix("/") ? path : folder + path, place: "\(place): \(name)", isSecret: true)
    }

    private func identifier(_ name: String, isNeeded: Bool, _ reader: inout SettingsReader) -> String? {
        guard isNeeded || has(name) else { return nil }
        let needed = "the 10 letters and digits that Apple shows"
        guard let text = text(name, needed: needed, &reader) else { return nil }
        guard APNsCredential.isIdentifier(text) else {
            reader.add(problem: "\(place): \(name) is \(SettingsReader.shown(text)); it must be \(needed)")
            return nil
        }
        return text
    }

    /// The texts of an array; none without the field; nil when something is wrong.
    private func texts(_ name: String, _ reader: inout SettingsReader) -> [String]? {
        guard let member = member(name) else { return [] }
        let texts = member.elements.map(\.string)
        guard member.isArray, !texts.contains(nil) else {
            reader.add(problem: "\(place): \(name) must be an array of texts")
            return nil
        }
        return texts.compactMap(\.self)
    }

    /// Both when none is given.
    private func environments(_ reader: inout SettingsReader) -> Set<APNsEnvironment>? {
        guard let texts = texts("environments", &reader) else { return nil }
        var environments: Set<APNsEnvironment> = []
        for text in texts {
            guard let environment = APNsEnvironment(rawValue: text.lowercased()) else {
                let hint = text.lowercased() == "sandbox" ? "; did you mean development?" : ""
                let shown = SettingsReader.shown(text)
                reader.add(
                    problem: "\(place): environments has \(shown)\(hint); it may have development and production"
                )
                return nil
            }
            environments.insert(environment)
        }
        return environments.isEmpty ? Set(APNsEnvironment.allCases) : environments
    }

    private func patterns(
        _ name: String,
        isFit: (String) -> Bool,
        _ reader: inout SettingsReader
    ) -> [GlobPattern]? {
        guard let texts = texts(name, &reader) else { return nil }
        for text in texts where !isFit(text) {
            let kind =
                name == "topics" ? "a bundle ID, or a pattern as com.example.*" : "a channel, or a pattern as shop.*"
            reader.add(problem: "\(place): \(name) has \(SettingsReader.shown(text)); it may have \(kind)")
            return nil
        }
        return texts.map { GlobPattern($0) }
    }

    private static func isTopicPattern(_ text: String) -> Bool {
        !text.isEmpty && APNsTopicList.isTopic(text.filter { $0 != "*" && $0 != "?" } + "x")
    }
}

extension Credential {
    /// The exact topics and channels that it is for, each with a key that is equal for equal uses.
    fileprivate var exactUses: [(key: String, text: String)] {
        switch kind {
        case .fcm:
            return channels.filter(\.isExact).map { ("fcm \($0)", "the channel \(Printable.value($0.description))") }
        case .apnsKey, .apnsCertificate:
            let method = if case .apnsKey = kind { "key" } else { "certificate" }
            return environments.sorted { $0.rawValue < $1.rawValue }.flatMap { environment in
                topics.filter(\.isExact).map {
                    ("\(method) \(environment) \($0)", "the topic \($0) in \(environment.rawValue)")
                }
            }
        }
    }
}
