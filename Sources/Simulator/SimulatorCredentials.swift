package import Encoding
package import Transport

/// Throw-away credentials that a simulator accepts, and the authority that signs its certificates.
package struct SimulatorCredentials: Sendable {
    package let authority: CertificateAuthority
    /// The key whose private half a provider server signs its APNs tokens with.
    package let apnsKey: SigningKey
    package let apnsKeyID: String
    package let apnsTeamID: String
    /// Further keys of teams.
    package var otherKeys: [APNsTokenCheck.Key] = []
    package let serviceAccountKey: SigningKey
    package let projectID: String

    package var clientEmail: String { "push@\(projectID).iam.gserviceaccount.com" }

    package init(projectID: String = "simulated") throws {
        authority = try CertificateAuthority(name: "pushbridge simulator")
        apnsKey = try SigningKey.generate(.es256)
        apnsKeyID = "SIMKEY0001"
        apnsTeamID = "SIMTEAM001"
        serviceAccountKey = try SigningKey.generate(.rs256)
        self.projectID = projectID
    }

    /// All keys whose tokens are good.
    var tokenKeys: [APNsTokenCheck.Key] {
        [APNsTokenCheck.Key(key: apnsKey, keyID: apnsKeyID, teamID: apnsTeamID)] + otherKeys
    }

    /// A certificate for topics, as Apple makes them: with one topic it stands in the subject alone.
    package func certificate(
        topics: [String],
        secondsFromNow validity: ClosedRange<Int> = -3600...31_536_000,
        others: [(number: String, value: [UInt8])] = []
    ) throws(TransportError) -> CertifiedKey {
        let list = (number: APNsCertificateCheck.topicExtension, value: APNsCertificateCheck.topicList(topics))
        return try authority.issue(
            hosts: ["Apple Push Services: \(topics.first ?? "")"],
            secondsFromNow: validity,
            userID: topics.first,
            others: (topics.count > 1 ? [list] : []) + others
        )
    }

    /// The service account's JSON, as Google's console gives it.
    package func serviceAccountJSON(tokenURL: String) throws -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        let members = [
            ("type", "service_account"), ("project_id", projectID), ("private_key_id", "simulated-key"),
            ("private_key", String(decoding: try serviceAccountKey.privatePEM(), as: UTF8.self)),
            ("client_email", clientEmail), ("client_id", "1"), ("token_uri", tokenURL),
        ]
        for (name, value) in members {
            json.key(name)
            json.string(value)
        }
        json.endObject()
        return json.bytes
    }
}
