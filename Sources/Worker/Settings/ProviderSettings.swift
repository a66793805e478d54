/// What the settings say about APNs.
package struct APNsSettings: Sendable {
    /// The text of the `.p8`, as given.
    package var key: [UInt8]?
    package var keyID: String?
    package var teamID: String?
    /// For messages without `pn_push`.
    package var defaultTopic: String?
    package var defaultEnvironment = APNsEnvironment.development
    package var productionURL = ProviderURL(host: "api.push.apple.com")
    package var developmentURL = ProviderURL(host: "api.sandbox.push.apple.com")

    package init() {}

    /// What needs no file.
    mutating func readPlain(_ reader: inout SettingsReader) {
        reader.parse(.apnsDefaultTopic, Self.topic).map { defaultTopic = $0 }
        reader.choose(.apnsDefaultEnvironment, APNsEnvironment.self).map { defaultEnvironment = $0 }
        reader.parse(.apnsProductionURL, ProviderURL.parse).map { productionURL = $0 }
        reader.parse(.apnsDevelopmentURL, ProviderURL.parse).map { developmentURL = $0 }
    }

    /// The credential.
    mutating func read(_ reader: inout SettingsReader) {
        let key = reader.value(of: .apnsKey)
        self.key = key?.bytes
        keyID = reader.parse(.apnsKeyID, Self.identifier)
        teamID = reader.parse(.apnsTeamID, Self.identifier)
    }

    private static func topic(_ text: String) throws(SettingsReader.Unfit) -> String {
        let isTopic = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: ".-_".utf8.contains(byte)
            }
        }
        guard isTopic, (1...255).contains(text.utf8.count) else { throw .init() }
        return text
    }

    private static func identifier(_ text: String) throws(SettingsReader.Unfit) -> String {
        guard text.utf8.count == 10, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw .init()
        }
        return text
    }
}

/// What the settings say about FCM.
package struct FCMSettings: Sendable {
    /// The service account's JSON, as given.
    package var serviceAccount: [UInt8]?
    package var url = ProviderURL(host: "fcm.googleapis.com")

    package init() {}

    /// What needs no file.
    mutating func readPlain(_ reader: inout SettingsReader) {
        reader.parse(.fcmURL, ProviderURL.parse).map { url = $0 }
    }

    /// The credential: the setting, or the file that Google's own variable names.
    mutating func read(_ reader: inout SettingsReader) {
        let isSet = reader.isSet(.fcmServiceAccount)
        let value = isSet ? reader.value(of: .fcmServiceAccount) : reader.applicationCredentials()
        serviceAccount = value?.bytes
    }
}

extension SettingsReader {
    /// Whether anything was said about a setting, right or wrong.
    func isSet(_ setting: Setting) -> Bool {
        [setting.flag, setting.fileFlag].contains { $0.map { flags[$0] != nil } ?? false }
            || [setting.variable, setting.fileVariable].contains { environment[$0]?.isEmpty == false }
    }

    /// The file named by `GOOGLE_APPLICATION_CREDENTIALS`.
    mutating func applicationCredentials() -> Value? {
        let name = "GOOGLE_APPLICATION_CREDENTIALS"
        guard let path = environment[name], !path.isEmpty else { return nil }
        return file(path, place: name, isSecret: true)
    }
}

extension ProviderURL {
    static func parse(_ text: String) throws(SettingsReader.Unfit) -> ProviderURL {
        guard let url = ProviderURL(text) else { throw .init() }
        return url
    }
}
