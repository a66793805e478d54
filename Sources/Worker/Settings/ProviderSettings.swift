import Encoding

/// What the settings say about APNs.
package struct APNsSettings: Sendable {
    /// Nil: pushes for APNs fail, one traced error each.
    package var credential: APNsCredential?
    /// For messages without `pn_push`.
    package var defaultTopic: String?
    package var defaultEnvironment = APNsEnvironment.development
    package var productionURL = ProviderURL(host: "api.push.apple.com")
    package var developmentURL = ProviderURL(host: "api.sandbox.push.apple.com")

    /// Where an environment's devices are reached.
    package func url(of environment: APNsEnvironment) -> ProviderURL {
        switch environment {
        case .production: productionURL
        case .development: developmentURL
        }
    }

    /// All but the credential.
    init(_ reader: inout SettingsReader) {
        reader.parse(.apnsDefaultTopic, Self.topic).map { defaultTopic = $0 }
        reader.choose(.apnsDefaultEnvironment, APNsEnvironment.self).map { defaultEnvironment = $0 }
        reader.parse(.apnsProductionURL, ProviderURL.parse).map { productionURL = $0 }
        reader.parse(.apnsDevelopmentURL, ProviderURL.parse).map { developmentURL = $0 }
    }

    /// The credential: all of its three parts, or none.
    mutating func readCredential(_ reader: inout SettingsReader) {
        let isKeySet = reader.isSet(.apnsKey)
        let value = reader.value(of: .apnsKey)
        let key = value.flatMap { reader.signingKey($0) }
        let givenID = reader.parse(.apnsKeyID, Self.identifier)
        let keyID = givenID ?? value?.path.flatMap(APNsCredential.keyID(inPath:))
        let teamID = reader.parse(.apnsTeamID, Self.identifier)
        guard isKeySet else { return complainAboutMissingKey(&reader) }
        if keyID == nil, !reader.isSet(.apnsKeyID), value != nil {
            let hint = value?.path == nil ? "" : ", or name the file AuthKey_<ID>.p8 as Apple does"
            reader.add(problem: "\(Setting.apnsKeyID.variable) is missing: an APNs key needs it\(hint)")
        }
        if teamID == nil, !reader.isSet(.apnsTeamID) {
            reader.add(problem: "\(Setting.apnsTeamID.variable) is missing: an APNs key needs it")
        }
        guard let key, let keyID, let teamID else { return }
        credential = APNsCredential(key: key, keyID: keyID, teamID: teamID)
    }

    private func complainAboutMissingKey(_ reader: inout SettingsReader) {
        let others = [Setting.apnsKeyID, .apnsTeamID].filter { reader.isSet($0) }.map(\.variable)
        guard !others.isEmpty else { return }
        let verb = others.count == 1 ? "is" : "are"
        reader.add(
            problem: "\(Setting.apnsKey.variable) is missing, while \(others.joined(separator: " and ")) \(verb) set; "
                + "it may be \(Setting.apnsKey.allowed), or \(Setting.apnsKey.fileVariable) names that file"
        )
    }

    private static func topic(_ text: String) throws(SettingsReader.Unfit) -> String {
        let isTopic = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
        guard isTopic, (1...255).contains(text.utf8.count) else { throw .init() }
        return text
    }

    private static func identifier(_ text: String) throws(SettingsReader.Unfit) -> String {
        guard APNsCredential.isIdentifier(text) else { throw .init() }
        return text
    }
}

/// What the settings say about FCM.
package struct FCMSettings: Sendable {
    /// Nil: pushes for FCM fail, one traced error each.
    package var serviceAccount: FCMServiceAccount?
    package var url = ProviderURL(host: "fcm.googleapis.com")

    /// All but the credential.
    init(_ reader: inout SettingsReader) {
        reader.parse(.fcmURL, ProviderURL.parse).map { url = $0 }
    }

    /// The credential: the setting, or the file that Google's own variable names.
    mutating func readCredential(_ reader: inout SettingsReader) {
        let setting = Setting.fcmServiceAccount
        guard let value = reader.isSet(setting) ? reader.value(of: setting) : reader.applicationCredentials() else {
            return
        }
        do {
            serviceAccount = try FCMServiceAccount(json: value.bytes)
        } catch {
            let place = reader.described(value)
            if let hint = SettingsReader.pathHint(String(decoding: value.bytes, as: UTF8.self), setting: setting) {
                return reader.add(problem: "\(place) \(hint)")
            }
            for reason in error.reasons { reader.add(problem: "\(place) \(reason)") }
        }
    }
}

extension SettingsReader {
    /// The APNs key in a value; nil when there is none, which has been complained about then.
    mutating func signingKey(_ value: Value) -> SigningKey? {
        do {
            return try SigningKey(value.bytes, .es256)
        } catch {
            let hint = Self.pathHint(String(decoding: value.bytes, as: UTF8.self), setting: .apnsKey)
            add(problem: "\(described(value)) \(hint ?? error.description); it may be \(Setting.apnsKey.allowed)")
            return nil
        }
    }

    /// A value's place and, if it has one, its file.
    func described(_ value: Value) -> String {
        value.path.map { "\(value.place) (the file \(Self.shown($0)))" } ?? value.place
    }
}

extension ProviderURL {
    static func parse(_ text: String) throws(SettingsReader.Unfit) -> ProviderURL {
        guard let url = ProviderURL(text) else { throw .init() }
        return url
    }
}
