import HTTP2
import Transport

/// Makes what knows a provider with a credential, and says how its host is reached: the same for the worker's routes
/// and for a single push.
///
/// Confined to one loop.
final class ProviderFactory {
    /// How a provider's host is reached.
    struct Way {
        let endpoint: Endpoint
        let tls: TLSClientContext
        var options: HTTP2Options
    }

    /// After five seconds another worker may have taken over what this one was about to send.
    private static let staleness = Duration.seconds(4)

    private let settings: Settings
    private let loop: EventLoop
    private let log: Log
    /// For connections that show no certificate.
    private let tls: TLSClientContext
    private let apnsClock: ClockWatch
    private let googleClock: ClockWatch
    /// One for each key, by its fingerprint.
    private var tokens: [String: APNsProviderToken] = [:]

    init(_ settings: Settings, loop: EventLoop, log: Log) throws {
        self.settings = settings
        self.loop = loop
        self.log = log
        tls = try TLSClientContext(extraCA: settings.extraCA, alpn: ["h2"])
        apnsClock = ClockWatch(peer: "apns", log: log) { loop.unixMilliseconds / 1000 }
        googleClock = ClockWatch(peer: "google", log: log) { loop.unixMilliseconds / 1000 }
    }

    /// The wall clock.
    var unixSeconds: Int64 { loop.unixMilliseconds / 1000 }

    // MARK: APNs

    func apns(_ prepared: PreparedCredential, _ environment: APNsEnvironment) -> APNsProvider {
        let loop = loop
        return APNsProvider(
            authority: settings.apns.url(of: environment).authority,
            authentication: authentication(of: prepared),
            clock: apnsClock
        ) { loop.unixMilliseconds }
    }

    func way(_ prepared: PreparedCredential, _ environment: APNsEnvironment) -> Way {
        let url = settings.apns.url(of: environment)
        var options = HTTP2Options()
        // With a certificate the connection is proven by its handshake.
        options.unprovenStreamLimit = prepared.tls == nil ? 1 : nil
        // Apple asks for one after an hour; networks forget silent connections sooner.
        options.pingInterval = .seconds(60)
        options.staleness = Self.staleness
        options.proxy = settings.proxy.proxy(toHost: url.host, port: url.port)
        return Way(endpoint: .tcp(host: url.host, port: url.port), tls: prepared.tls ?? tls, options: options)
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

    func fcm(_ account: FCMServiceAccount, _ token: FCMTokenSource) -> FCMProvider {
        FCMProvider(
            authority: settings.fcm.url.authority,
            projectID: account.projectID,
            token: token,
            clock: googleClock
        )
    }

    var wayToFCM: Way {
        let url = settings.fcm.url
        var options = HTTP2Options()
        // Google ends connections on which more streams are opened, and those that are pinged often.
        options.streamLimit = 100
        options.maximumConnections = 16
        // Without PINGs a slow answer looks like silence; Google asks to wait 10 s for it.
        options.silenceLimit = .seconds(10)
        options.staleness = Self.staleness
        options.proxy = settings.proxy.proxy(toHost: url.host, port: url.port)
        return Way(endpoint: .tcp(host: url.host, port: url.port), tls: tls, options: options)
    }

    /// A source of access tokens, to be started.
    func token(of account: FCMServiceAccount) -> FCMTokenSource {
        FCMTokenSource(
            account,
            extraCA: settings.extraCA,
            proxy: settings.proxy,
            clock: googleClock,
            loop: loop,
            log: log
        )
    }
}
