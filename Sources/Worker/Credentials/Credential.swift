import Encoding

/// One thing to show to a provider, and what it may be used for.
package struct Credential: Sendable {
    package enum Kind: Sendable {
        case apnsKey(APNsCredential)
        case apnsCertificate(APNsCertificate)
        case fcm(FCMServiceAccount)
    }

    package let kind: Kind
    /// Where it was set, for people: a variable, or an entry of the credentials file.
    package let origin: String
    /// The environments of APNs that it is for.
    package let environments: Set<APNsEnvironment>
    /// The topics that it is for; empty: all.
    package let topics: [GlobPattern]
    /// What a topic is compared with: the topics, or if none are given those of the certificate.
    let topicPatterns: [GlobPattern]
    /// The channels whose FCM devices it is for; empty: all.
    package let channels: [GlobPattern]
    /// From one of the single variables: used when no entry of the credentials file fits.
    package let isFallback: Bool
    /// The same for the same secret with the same meaning, and nothing that must not be seen.
    package let fingerprint: String

    package init(
        _ kind: Kind,
        origin: String,
        environments: Set<APNsEnvironment> = Set(APNsEnvironment.allCases),
        topics: [GlobPattern] = [],
        channels: [GlobPattern] = [],
        isFallback: Bool = false
    ) {
        self.kind = kind
        self.origin = origin
        self.topics = topics
        self.channels = channels
        self.isFallback = isFallback
        switch kind {
        case .apnsCertificate(let certificate):
            self.environments = environments.intersection(certificate.environments)
            topicPatterns = topics.isEmpty ? certificate.topics.map { GlobPattern($0) } : topics
            fingerprint = certificate.fingerprint
        case .apnsKey(let key):
            self.environments = environments
            topicPatterns = topics
            fingerprint = Self.fingerprint([key.teamID, key.keyID], key.key)
        case .fcm(let account):
            self.environments = environments
            topicPatterns = []
            let words = [account.projectID, account.clientEmail, account.privateKeyID ?? "", account.tokenURI]
            fingerprint = Self.fingerprint(words, account.key)
        }
    }

    /// The secret and what it is for, to be compared.
    var use: Use {
        Use(
            fingerprint: fingerprint,
            environments: environments,
            topics: topicPatterns,
            channels: channels,
            isFallback: isFallback
        )
    }

    struct Use: Equatable {
        let fingerprint: String
        let environments: Set<APNsEnvironment>
        let topics: [GlobPattern]
        let channels: [GlobPattern]
        let isFallback: Bool
    }

    /// For people and logs: the kind, and the name that its provider knows it by.
    package var name: String {
        switch kind {
        case .apnsKey(let key): "key \(key.keyID)"
        case .apnsCertificate(let certificate): "certificate \(Printable.value(certificate.name))"
        case .fcm(let account): "project \(account.projectID)"
        }
    }

    /// What tells its routes in logs from those of others, also when another credential takes its place; empty for the
    /// single key.
    var place: String {
        if !isFallback { return origin.split(separator: " ").prefix(2).joined(separator: " ") }
        return if case .apnsCertificate = kind { "certificate" } else { "" }
    }

    /// Its name, where it was set and what it is for, as a part of a sentence.
    var label: String {
        var limits: [String] = []
        if environments.count < APNsEnvironment.allCases.count {
            limits.append(environments.map(\.rawValue).sorted().joined(separator: " and "))
        }
        if !topics.isEmpty { limits.append("topics \(Self.list(topics.map(\.description)))") }
        if !channels.isEmpty { limits.append("channels \(Self.list(channels.map(\.description)))") }
        return "\(name) (\(([origin] + limits).joined(separator: ", ")))"
    }

    /// At most ten texts with commas between.
    static func list(_ texts: [String]) -> String {
        let shown = texts.prefix(10).map { Printable.value($0) } + (texts.count > 10 ? ["…"] : [])
        return shown.joined(separator: " ")
    }

    private static func fingerprint(_ words: [String], _ key: SigningKey) -> String {
        let text = words.joined(separator: "\n") + "\n"
        return Digest.hexadecimal(Digest.sha256(Array(text.utf8) + ((try? key.publicPEM()) ?? [])))
    }
}
