/// What a provider's answer means: for the push, its device, the credential, the connection.
///
/// A rejected push is a value, not an error. Reasons are the provider's own words.
package enum Verdict: Equatable, Sendable {
    /// Accepted; no proof that a person saw it.
    case sent
    /// The device is gone: since a time in unix milliseconds, or for ever when the provider names none.
    case removeDevice(reason: String, deadSince: Int64?)
    /// The token is dead, or credential, environment and topic do not fit it: removed only as the brake allows.
    case doubtful(reason: String)
    /// Failed for good; the registration stays.
    case failed(reason: String, fault: Fault)
    /// What is refused may be accepted on a new connection: tried once more there.
    case reconnect(reason: String, otherwise: LastResort)
    /// The credential is refused; the registration stays.
    case credential(reason: String, action: CredentialAction)
    /// Worth another attempt, after a time if the provider asks for one.
    case retry(reason: String, after: Duration?, scope: RetryScope)

    /// The provider's word; nil when it accepted the push.
    package var reason: String? {
        switch self {
        case .sent: nil
        case .removeDevice(let reason, _), .doubtful(let reason), .failed(let reason, _), .reconnect(let reason, _),
            .credential(let reason, _), .retry(let reason, _, _):
            reason
        }
    }

    /// Whose fault a failure is.
    package enum Fault: Equatable, Sendable {
        /// This push, or its device: others go on.
        case push
        /// What was set up: every push like it fails, until somebody mends it.
        case configuration
        /// Our request: a defect.
        case request
    }

    /// What follows when a new connection has not helped.
    package enum LastResort: Equatable, Sendable {
        /// The push fails; what was set up is wrong.
        case fail
        /// The credential is refused.
        case stopCredential
    }

    package enum CredentialAction: Equatable, Sendable {
        /// Another token is made, and the push tried once more.
        case refreshToken
        /// Nothing that the program can do helps.
        case stop
    }

    /// What the provider wants to be spared.
    package enum RetryScope: Equatable, Sendable {
        case push
        /// Other devices go on.
        case device
        /// All pushes with this credential are too many.
        case project
        /// The device or the project: the provider does not say which.
        case quota
        /// Another connection is better.
        case connection
    }
}

/// What a provider's answers may hold besides their meaning.
enum ProviderAnswer {
    /// The longest body that is looked into; both providers' answers have a tenth of it.
    static let maximumBodyBytes = 16 << 10

    /// A reason as logs and traces carry it: the provider's word if it is one, else the status.
    static func reason(_ word: String?, status: Int) -> String {
        guard let word, !word.isEmpty, word.utf8.count <= 100, word.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return "HTTP \(status)"
        }
        return word
    }
}
