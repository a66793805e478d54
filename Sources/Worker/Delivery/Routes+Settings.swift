import Encoding
import HTTP2
package import Transport

/// What all routes of a worker share.
package struct RouteSurroundings {
    package let loop: EventLoop
    package let log: Log
    package let registrations: DeadRegistrations
    package let counters: Counters
    package let ownership: Ownership
    package let delayed: DelayedPushes
    package let events: RemovedEvents
    package let retryPolicy: RetryPolicy
    /// Redis' time in unix milliseconds.
    package let now: () -> Int64
}

extension Routes {
    /// The routes for the credentials that the settings have.
    package convenience init(_ settings: Settings, in surroundings: RouteSurroundings) throws {
        let factory = try RouteFactory(settings, in: surroundings)
        var prepared: [PreparedCredential] = []
        for credential in settings.credentials {
            prepared.append(try PreparedCredential(credential, extraCA: settings.extraCA))
        }
        self.init(prepared, factory: factory)
    }
}

/// Makes routes, and what stands behind them, of credentials.
///
/// Confined to the worker's loop.
final class RouteFactory {
    private let settings: Settings
    private let surroundings: RouteSurroundings
    private let providers: ProviderFactory

    init(_ settings: Settings, in surroundings: RouteSurroundings) throws {
        self.settings = settings
        self.surroundings = surroundings
        providers = try ProviderFactory(settings, loop: surroundings.loop, log: surroundings.log)
    }

    var loop: EventLoop { surroundings.loop }
    /// The wall clock.
    var unixSeconds: Int64 { providers.unixSeconds }

    /// Says what has become of the credentials.
    func log(_ changes: CredentialChanges, from old: [Credential], to new: [Credential]) {
        let log = surroundings.log
        var said: Set<String> = []
        for credential in new where said.insert(credential.fingerprint).inserted {
            switch changes.origins[credential.fingerprint] {
            case .replaces(let former):
                let name = old.first { $0.fingerprint == former }?.name ?? ""
                log.info("a credential takes another's place", ["credential": credential.label, "former": name])
            case .new, nil: log.info("a credential is new", ["credential": credential.label])
            case .same: break
            }
        }
        for credential in old where changes.gone.contains(credential.fingerprint) {
            log.info("a credential is gone", ["credential": credential.label])
        }
        if said.isEmpty { log.warning("no credential is left: no push can be sent") }
        log.info("credentials were read again", ["credentials": new.count])
    }

    // MARK: APNs

    func apns(_ prepared: PreparedCredential, _ environment: APNsEnvironment) -> (Route, APNsProvider) {
        let provider = providers.apns(prepared, environment)
        let words = ["apns", environment.rawValue, prepared.credential.place]
        let route = make(words.filter { !$0.isEmpty }.joined(separator: " "), provider)
        open(route, prepared, environment)
        return (route, provider)
    }

    /// Opens the way to an environment, with new connections if it was open before.
    func open(_ route: Route, _ prepared: PreparedCredential, _ environment: APNsEnvironment) {
        let way = providers.way(prepared, environment)
        route.open(to: way.endpoint, tls: way.tls, options: way.options)
    }

    /// What shows requests to be ours: the key's token, which all its routes share, or the connection's certificate.
    func authentication(of prepared: PreparedCredential) -> APNsAuthentication {
        providers.authentication(of: prepared)
    }

    /// Forgets the tokens of keys that are not used any more.
    func forgetTokens(except fingerprints: Set<String>) {
        providers.forgetTokens(except: fingerprints)
    }

    // MARK: FCM

    func fcm(_ account: FCMServiceAccount) -> (Route, FCMProvider) {
        let token = token(of: account)
        let provider = providers.fcm(account, token)
        let route = make("fcm \(account.projectID)", provider)
        let way = providers.wayToFCM
        route.open(to: way.endpoint, tls: way.tls, options: way.options)
        token.start()
        return (route, provider)
    }

    /// A source of access tokens, to be started.
    func token(of account: FCMServiceAccount) -> FCMTokenSource { providers.token(of: account) }

    private func make(_ name: String, _ provider: any Provider) -> Route {
        let settlement = Settlement(
            routeName: name,
            registrations: surroundings.registrations,
            events: surroundings.events,
            counters: surroundings.counters,
            retryPolicy: surroundings.retryPolicy,
            brake: RemovalBrake(maximumShare: settings.removalBrake),
            now: surroundings.now,
            log: surroundings.log
        )
        return Route(
            name: name,
            provider: provider,
            settlement: settlement,
            ownership: surroundings.ownership,
            delayed: surroundings.delayed,
            loop: surroundings.loop,
            log: surroundings.log
        )
    }
}
