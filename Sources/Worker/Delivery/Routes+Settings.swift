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
    /// After five seconds another worker may have taken over what this one was about to send.
    private static let staleness = Duration.seconds(4)

    private let settings: Settings
    private let surroundings: RouteSurroundings
    /// For connections that show no certificate.
    private let tls: TLSClientContext
    private let apnsClock: ClockWatch
    private let googleClock: ClockWatch
    /// One for each key, by its fingerprint.
    private var tokens: [String: APNsProviderToken] = [:]

    init(_ settings: Settings, in surroundings: RouteSurroundings) throws {
        self.settings = settings
        self.surroundings = surroundings
        tls = try TLSClientContext(extraCA: settings.extraCA, alpn: ["h2"])
        let (loop, log) = (surroundings.loop, surroundings.log)
        apnsClock = ClockWatch(peer: "apns", log: log) { loop.unixMilliseconds / 1000 }
        googleClock = ClockWatch(peer: "google", log: log) { loop.unixMilliseconds / 1000 }
    }

    var loop: EventLoop { surroundings.loop }
    /// The wall clock.
    var unixSeconds: Int64 { loop.unixMilliseconds / 1000 }

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
        let loop = loop
        let provider = APNsProvider(
            authority: settings.apns.url(of: environment).authority,
            authentication: authentication(of: prepared),
            clock: apnsClock
        ) { loop.unixMilliseconds }
        let words = ["apns", environment.rawValue, prepared.credential.place]
        let route = make(words.filter { !$0.isEmpty }.joined(separator: " "), provider)
        open(route, prepared, environment)
        return (route, provider)
    }

    /// Opens the way to an environment, with new connections if it was open before.
    func open(_ route: Route, _ prepared: PreparedCredential, _ environment: APNsEnvironment) {
        let url = settings.apns.url(of: environment)
        var options = HTTP2Options()
        // With a certificate the connection is proven by its handshake.
        options.unprovenStreamLimit = prepared.tls == nil ? 1 : nil
        // Apple asks for one after an hour; networks forget silent connections sooner.
        options.pingInterval = .seconds(60)
        options.staleness = Self.staleness
        options.proxy = settings.proxy.proxy(toHost: url.host, port: url.port)
        route.open(to: .tcp(host: url.host, port: url.port), tls: prepared.tls ?? tls, options: options)
    }

    /// What shows requests to be ours: the key's token, which all its routes share, or the connection's certificate.
    func authentication(of prepared: PreparedCredential) -> APNsAuthentication {
        guard case .apnsKey(let key) = prepared.credential.kind else { return .certificate }
        let fingerprint = prepared.credential.fingerprint
        if let token = tokens[fingerprint] { return .token(token) }
        let token = APNsProviderToken(key, now: loop.unixMilliseconds)
        tokens[fingerprint] = token
        return .token(token)
    }

    /// Forgets the tokens of keys that are not used any more.
    func forgetTokens(except fingerprints: Set<String>) {
        tokens = tokens.filter { fingerprints.contains($0.key) }
    }

    // MARK: FCM

    func fcm(_ account: FCMServiceAccount) -> (Route, FCMProvider) {
        let url = settings.fcm.url
        let token = token(of: account)
        let provider = FCMProvider(
            authority: url.authority,
            projectID: account.projectID,
            token: token,
            clock: googleClock
        )
        var options = HTTP2Options()
        // Google ends connections on which more streams are opened, and those that are pinged often.
        options.streamLimit = 100
        options.maximumConnections = 16
        // Without PINGs a slow answer looks like silence; Google asks to wait 10 s for it.
        options.silenceLimit = .seconds(10)
        options.staleness = Self.staleness
        options.proxy = settings.proxy.proxy(toHost: url.host, port: url.port)
        let route = make("fcm \(account.projectID)", provider)
        route.open(to: .tcp(host: url.host, port: url.port), tls: tls, options: options)
        token.start()
        return (route, provider)
    }

    /// A source of access tokens, to be started.
    func token(of account: FCMServiceAccount) -> FCMTokenSource {
        FCMTokenSource(
            account,
            extraCA: settings.extraCA,
            proxy: settings.proxy,
            clock: googleClock,
            loop: loop,
            log: surroundings.log
        )
    }

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
