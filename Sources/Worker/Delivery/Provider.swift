package import HTTP2

/// What a route knows of its provider: how a push becomes a request, and what an answer means.
///
/// Confined to the worker's loop.
package protocol Provider: AnyObject {
    var gateway: Gateway { get }
    /// Whether requests can be made now; false while a credential is fetched.
    var isReady: Bool { get }
    /// Why it will not become ready, when that is known.
    var failure: TargetEnding? { get }
    /// The request of a push; called only while ready.
    func request(for push: Push) -> HTTP2Request
    /// What an answer means for the push, its device, the credential.
    func verdict(on response: HTTP2Response, for push: Push) -> Verdict
    /// The name that the provider gave an accepted push, for its trace.
    func name(of response: HTTP2Response, for push: Push) -> AcceptedName
    /// The provider refused the credential: get another one.
    func refreshCredential() -> CredentialRefresh
    /// Why a connection ends, if the provider's last words say that the credential is refused.
    func refusal(inGoAway debugData: [UInt8]) -> String?
    /// Ends its timers.
    func close()
    /// Called when it has become ready (nil), or why it will not become so.
    var whenChanged: ((_ failure: TargetEnding?) -> Void)? { get set }
}

extension Provider {
    package var failure: TargetEnding? { nil }
    package func close() {}
    package func refusal(inGoAway debugData: [UInt8]) -> String? { nil }
}

/// What came of asking for another credential.
package enum CredentialRefresh: Equatable, Sendable {
    /// There is a new one: connections that knew the old one are of no more use.
    case renewed
    /// It was asked for before, or comes later: pushes may be tried once more.
    case underway
    /// There will be no other one.
    case impossible
}

/// How an accepted push is called: by the `apns-id` we gave it, or by the name that FCM answered.
package enum AcceptedName {
    case apnsID(String)
    case fcmName(String)
    case unknown
}
