import Encoding

/// Which of the credentials a push takes.
///
/// A value type without I/O. An exact topic or channel beats a pattern, the pattern with more given characters another,
/// an entry without topics or channels comes after these, and the single variables come last. Between equals, one
/// that is bound to the environment beats one for both, and the first beats those after it.
package struct CredentialTable: Sendable {
    /// What a push needs.
    package enum Need: Sendable {
        case apns(APNsNeed)
        case fcm(channel: [UInt8])
    }

    package struct APNsNeed: Sendable {
        package let method: APNsAuthMethod
        package let environment: APNsEnvironment
        /// As written in the message.
        package let topic: String
        /// `apns-topic`: the topic with its push type's suffix.
        package let requestTopic: String
        /// The topic without its push type's suffix.
        package let bundle: String

        package init(
            method: APNsAuthMethod,
            environment: APNsEnvironment,
            topic: String,
            requestTopic: String? = nil,
            bundle: String? = nil
        ) {
            self.method = method
            self.environment = environment
            self.topic = topic
            self.requestTopic = requestTopic ?? topic
            self.bundle = bundle ?? topic
        }
    }

    package enum Choice: Equatable, Sendable {
        /// The place of the credential.
        case credential(Int)
        /// None fits: a word like the provider's, and a sentence.
        case none(reason: String, text: String)
    }

    package let credentials: [Credential]

    package init(_ credentials: [Credential]) {
        self.credentials = credentials
    }

    /// How closely a credential describes what is needed; the greatest is taken.
    private struct Fit: Comparable {
        /// 0: a single variable, 1: for everything, 2: a pattern, 3: exact.
        let kind: Int
        let weight: Int
        let isBound: Bool

        static func < (left: Fit, right: Fit) -> Bool {
            if left.kind != right.kind { return left.kind < right.kind }
            if left.weight != right.weight { return left.weight < right.weight }
            return !left.isBound && right.isBound
        }
    }

    /// The credential for a push; `unixSeconds` is the wall clock, by which certificates end.
    package func choose(for need: Need, unixSeconds: Int64) -> Choice {
        var best: (index: Int, fit: Fit)?
        for (index, credential) in credentials.enumerated() {
            guard let fit = Self.fit(of: credential, for: need, unixSeconds: unixSeconds) else { continue }
            if let best, best.fit >= fit { continue }
            best = (index, fit)
        }
        return best.map { .credential($0.index) } ?? none(for: need, unixSeconds: unixSeconds)
    }

    private static func fit(of credential: Credential, for need: Need, unixSeconds: Int64) -> Fit? {
        switch (need, credential.kind) {
        case (.fcm(let channel), .fcm):
            return fit(credential, [channel], credential.channels, isBound: false)
        case (.apns(let need), .apnsKey) where need.method == .token:
            return fit(credential, for: need, credential.topicPatterns)
        case (.apns(let need), .apnsCertificate(let certificate)) where need.method == .certificate:
            guard certificate.covers(need.requestTopic), certificate.validity.contains(unixSeconds) else { return nil }
            return fit(credential, for: need, credential.topicPatterns)
        default: return nil
        }
    }

    private static func fit(_ credential: Credential, for need: APNsNeed, _ topics: [GlobPattern]) -> Fit? {
        guard credential.environments.contains(need.environment) else { return nil }
        return fit(
            credential,
            [need.topic, need.requestTopic, need.bundle].map { Array($0.utf8) },
            topics,
            isBound: credential.environments.count == 1
        )
    }

    /// The best fit of any of a credential's patterns to any name; nil: it is not for them.
    private static func fit(
        _ credential: Credential,
        _ names: @autoclosure () -> [[UInt8]],
        _ patterns: [GlobPattern],
        isBound: Bool
    ) -> Fit? {
        if patterns.isEmpty { return Fit(kind: credential.isFallback ? 0 : 1, weight: 0, isBound: isBound) }
        let names = names()
        let fitting = patterns.filter { pattern in names.contains { pattern.matches($0) } }
        return fitting.map { pattern in
            if credential.isFallback { return Fit(kind: 0, weight: 0, isBound: isBound) }
            return Fit(kind: pattern.isExact ? 3 : 2, weight: pattern.isExact ? 0 : pattern.weight, isBound: isBound)
        }.max()
    }
}

// MARK: - When none fits

extension CredentialTable {
    private func none(for need: Need, unixSeconds: Int64) -> Choice {
        switch need {
        case .fcm(let channel):
            let all = credentials.filter { if case .fcm = $0.kind { true } else { false } }
            guard !all.isEmpty else { return Self.nothing("no FCM service account is set", .fcmServiceAccount) }
            let wanted = "an FCM project for the channel \(Printable.value(channel))"
            return Self.misfit(wanted, all)
        case .apns(let need) where need.method == .token:
            let all = credentials.filter { if case .apnsKey = $0.kind { true } else { false } }
            guard !all.isEmpty else { return Self.nothing("no APNs key is set", .apnsKey) }
            return Self.misfit("an APNs key for \(need.description)", all)
        case .apns(let need):
            return noCertificate(for: need, unixSeconds: unixSeconds)
        }
    }

    private func noCertificate(for need: APNsNeed, unixSeconds: Int64) -> Choice {
        var all: [Credential] = []
        var near: [(credential: Credential, certificate: APNsCertificate)] = []
        for credential in credentials {
            guard case .apnsCertificate(let certificate) = credential.kind else { continue }
            all.append(credential)
            if Self.fit(credential, for: need, credential.topics) != nil { near.append((credential, certificate)) }
        }
        guard !all.isEmpty else {
            return Self.nothing("the message asks for an APNs certificate, and none is set", .apnsCertificate)
        }
        let covering = near.filter { $0.certificate.covers(need.requestTopic) }
        if let ended = covering.first {
            let time = ended.certificate.problem(unixSeconds: unixSeconds) ?? "cannot be used"
            let text = "the \(ended.credential.label) \(time)"
            return .none(reason: "BadCertificate", text: text)
        }
        guard !near.isEmpty else { return Self.misfit("an APNs certificate for \(need.description)", all) }
        let topics = near.prefix(5).map { near in
            "the \(near.credential.label) has \(Credential.list(near.certificate.topics))"
        }
        let text = "no APNs certificate covers the topic \(Printable.value(need.requestTopic)): "
        return .none(reason: "TopicDisallowed", text: text + topics.joined(separator: "; "))
    }

    private static func nothing(_ text: String, _ setting: Setting) -> Choice {
        .none(reason: "NoCredential", text: "\(text) (\(setting.variable))")
    }

    private static func misfit(_ wanted: String, _ all: [Credential]) -> Choice {
        let shown = all.prefix(5).map(\.label) + (all.count > 5 ? ["…"] : [])
        let text = "\(wanted) was looked for, and there is none: there are \(shown.joined(separator: "; "))"
        return .none(reason: "NoCredential", text: text)
    }
}

extension CredentialTable.APNsNeed: CustomStringConvertible {
    package var description: String { "the topic \(Printable.value(topic)) in \(environment.rawValue)" }
}

extension CredentialTable.Need {
    /// What a target of a message on a channel needs; nil when it has no environment or topic.
    init?(_ target: Target, channel: [UInt8]) {
        guard target.gateway == .apns else {
            self = .fcm(channel: channel)
            return
        }
        guard let environment = target.environment, let request = target.apns else { return nil }
        let suffix = request.pushType.topicSuffix
        let bundle = suffix.isEmpty ? request.topic : String(request.topic.dropLast(suffix.count))
        self = .apns(
            CredentialTable.APNsNeed(
                method: target.authMethod,
                environment: environment,
                topic: target.topic ?? request.topic,
                requestTopic: request.topic,
                bundle: bundle
            )
        )
    }
}
