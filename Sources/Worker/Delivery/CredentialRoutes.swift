import HTTP2
import Transport

/// A credential with what is costly to make of it.
///
/// Made on any thread, since trusted certificates are read from files for it.
struct PreparedCredential: Sendable {
    let credential: Credential
    /// Shows the certificate, if it is one.
    let tls: TLSClientContext?

    init(_ credential: Credential, extraCA: [UInt8]?) throws {
        self.credential = credential
        switch credential.kind {
        case .apnsCertificate(let certificate):
            tls = try TLSClientContext(extraCA: extraCA, alpn: ["h2"], clientCertificate: certificate.certifiedKey)
        case .apnsKey(let key):
            try APNsProviderToken.check(key)
            tls = nil
        case .fcm:
            tls = nil
        }
    }
}

/// The routes of one credential: one for each environment of APNs, or one to FCM.
///
/// Confined to the worker's loop.
final class CredentialRoutes {
    /// How long a route of a credential that is gone must have been without pushes before it is closed.
    private static let quietTime: Duration = .seconds(300)
    /// How often that is looked at.
    private static let quietStep: Duration = .seconds(10)

    /// One route and what may be replaced behind it.
    private enum Way {
        case apns(Route, APNsProvider)
        case fcm(Route, FCMProvider)

        var route: Route {
            switch self {
            case .apns(let route, _): route
            case .fcm(let route, _): route
            }
        }
    }

    private let factory: RouteFactory
    private var prepared: PreparedCredential
    /// Nil stands for FCM.
    private var ways: [APNsEnvironment?: Way] = [:]

    init(_ prepared: PreparedCredential, factory: RouteFactory) {
        self.prepared = prepared
        self.factory = factory
        makeAll()
    }

    var all: [Route] { ways.values.map(\.route) }

    /// The route to an environment; to FCM with nil.
    func route(in environment: APNsEnvironment?) -> Route {
        if let way = ways[environment] { return way.route }
        let way: Way
        switch prepared.credential.kind {
        case .fcm(let account):
            let (route, provider) = factory.fcm(account)
            way = .fcm(route, provider)
        case .apnsKey, .apnsCertificate:
            let (route, provider) = factory.apns(prepared, environment ?? .development)
            way = .apns(route, provider)
        }
        ways[environment] = way
        return way.route
    }

    /// The same credential, perhaps for other environments.
    func keep(_ prepared: PreparedCredential) {
        self.prepared = prepared
        makeAll()
    }

    /// Uses another credential of the same kind on the same routes, with connections of its own.
    func replace(by prepared: PreparedCredential) {
        self.prepared = prepared
        for (environment, way) in ways {
            switch (way, prepared.credential.kind) {
            case (.apns(let route, let provider), _):
                provider.use(factory.authentication(of: prepared))
                factory.open(route, prepared, environment ?? .development)
            case (.fcm(_, let provider), .fcm(let account)):
                provider.use(projectID: account.projectID, factory.token(of: account))
            case (.fcm, _): break
            }
        }
        makeAll()
    }

    private func makeAll() {
        if case .fcm = prepared.credential.kind {
            _ = route(in: nil)
        } else {
            for environment in prepared.credential.environments { _ = route(in: environment) }
        }
    }

    /// Closes the routes when they have had no pushes for a while, and calls back then.
    func closeWhenQuiet(since quiet: LoopInstant? = nil, then: @escaping () -> Void) {
        let now = factory.loop.now
        let isBusy = all.contains { $0.unfinished > 0 }
        let quiet = isBusy ? nil : quiet ?? now
        if let quiet, now - quiet >= Self.quietTime {
            for route in all { route.close() }
            return then()
        }
        factory.loop.schedule(after: Self.quietStep) { [self] in closeWhenQuiet(since: quiet, then: then) }
    }
}
