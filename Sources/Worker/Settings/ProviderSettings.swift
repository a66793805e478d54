/// What the settings say about APNs.
package struct APNsSettings: Sendable {
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

    init(_ reader: inout SettingsReader) {
        reader.parse(.apnsDefaultTopic, Self.topic).map { defaultTopic = $0 }
        reader.choose(.apnsDefaultEnvironment, APNsEnvironment.self).map { defaultEnvironment = $0 }
        reader.parse(.apnsProductionURL, ProviderURL.parse).map { productionURL = $0 }
        reader.parse(.apnsDevelopmentURL, ProviderURL.parse).map { developmentURL = $0 }
    }

    private static func topic(_ text: String) throws(SettingsReader.Unfit) -> String {
        guard APNsTopicList.isTopic(text) else { throw .init() }
        return text
    }
}

/// What the settings say about FCM.
package struct FCMSettings: Sendable {
    package var url = ProviderURL(host: "fcm.googleapis.com")

    init(_ reader: inout SettingsReader) {
        reader.parse(.fcmURL, ProviderURL.parse).map { url = $0 }
    }
}

extension ProviderURL {
    static func parse(_ text: String) throws(SettingsReader.Unfit) -> ProviderURL {
        guard let url = ProviderURL(text) else { throw .init() }
        return url
    }
}
