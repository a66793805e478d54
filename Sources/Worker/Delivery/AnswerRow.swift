/// A known answer of a provider: its word, what it means, and what the developer should do.
///
/// The tables of these rows (``APNsAnswer``, ``FCMAnswer``) decide on pushes, and are the source of `docs/answers.md`,
/// of the texts of traces, and of what `pushbridge send` says.
package struct AnswerRow: Sendable {
    /// The HTTP status that it comes with.
    package let status: Int
    /// The provider's word.
    package let word: String
    package let meaning: AnswerMeaning
    /// What to do, as a sentence without a full stop.
    package let advice: String

    init(_ status: Int, _ word: String, _ meaning: AnswerMeaning, _ advice: String) {
        self.status = status
        self.word = word
        self.meaning = meaning
        self.advice = advice
    }
}

/// What a row of a table means, before what the answer itself adds: timestamp, details, headers.
package enum AnswerMeaning: Equatable, Sendable {
    /// The token is dead: since the answer's timestamp, if it has one.
    case gone
    /// A dead token, or the other environment.
    case doubtful
    /// A token of another app, unless we made the topic ourselves.
    case doubtfulTopic
    /// A dead token or a faulty message: the details tell.
    case invalidArgument
    case failed(Verdict.Fault)
    case reconnect(Verdict.LastResort)
    case credential(Verdict.CredentialAction)
    /// The project sends too much, or one device gets too much: the details tell.
    case quota
    case retry(Verdict.RetryScope)
}

extension Gateway {
    /// What a developer should do about a reason of this gateway, or about one of ours; nil when it is not known.
    package func advice(on reason: String) -> String? {
        switch self {
        case .apns: APNsReason.rows[APNsReason(rawValue: reason)]?.advice
        case .fcm: FCMReason.row(code: reason, status: reason)?.advice
        }
    }
}
