package import HTTP2

/// What a route knows of its provider: how a push becomes a request, and what an answer means.
///
/// Confined to the worker's loop.
package protocol Provider: AnyObject {
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
    /// The provider refused the credential: get another one. True when a push may be tried once more.
    func refreshCredential(reason: String) -> Bool
    /// Ends its timers.
    func close()
    /// Called when it has become ready (nil), or why it will not become so.
    var whenChanged: ((_ failure: TargetEnding?) -> Void)? { get set }
}

extension Provider {
    package var failure: TargetEnding? { nil }
    package func close() {}
}

/// How an accepted push is called: by the `apns-id` we gave it, or by the name that FCM answered.
package enum AcceptedName {
    case apnsID(String)
    case fcmName(String)
    case unknown
}
