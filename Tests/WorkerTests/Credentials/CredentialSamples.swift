import Encoding
import Transport
import Worker

/// Credentials for tests, each with a name of its own.
enum CredentialSamples {
    static let key = Result { try SigningKey.generate(.es256) }
    static let rsa = Result { try SigningKey.generate(.rs256) }
    static let authority = Result { try CertificateAuthority(name: "samples") }
    /// A year in seconds.
    static let year = 31_536_000

    static func key(_ keyID: String = "KEY4567890", team: String = "TEAM567890") throws -> Credential.Kind {
        .apnsKey(APNsCredential(key: try key.get(), keyID: keyID, teamID: team))
    }

    /// The extension's value, as Apple writes it.
    static func list(_ topics: [String]) -> [UInt8] {
        let elements = topics.flatMap { topic in
            DER.encode(0x0C, Array(topic.utf8)) + DER.encode(0x30, DER.encode(0x0C, Array("app".utf8)))
        }
        return DER.encode(0x30, elements)
    }

    static func certifiedKey(
        _ name: String = "Apple Push Services: com.example.app",
        topics: [String],
        secondsFromNow: ClosedRange<Int> = -3600...year,
        others: [(number: String, value: [UInt8])] = []
    ) throws -> CertifiedKey {
        try authority.get().issue(
            hosts: [name],
            secondsFromNow: secondsFromNow,
            others: (topics.isEmpty ? [] : [("1.2.840.113635.100.6.3.6", list(topics))]) + others
        )
    }

    static func certificate(
        _ name: String = "Apple Push Services: com.example.app",
        topics: [String],
        secondsFromNow: ClosedRange<Int> = -3600...year
    ) throws -> Credential.Kind {
        .apnsCertificate(
            try APNsCertificate(certifiedKey(name, topics: topics, secondsFromNow: secondsFromNow))
        )
    }

    static func account(_ projectID: String, email: String = "push@demo.iam.gserviceaccount.com") throws -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for (name, value) in [
            ("type", "service_account"), ("project_id", projectID), ("client_email", email),
            ("private_key", String(decoding: try rsa.get().privatePEM(), as: UTF8.self)),
        ] {
            json.key(name)
            json.string(value)
        }
        json.endObject()
        return json.bytes
    }

    static func project(_ projectID: String) throws -> Credential.Kind {
        .fcm(try FCMServiceAccount(json: account(projectID)))
    }
}
