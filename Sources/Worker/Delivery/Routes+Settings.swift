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
    /// Redis' time in unix milliseconds.
    package let now: () -> Int64
}

extension Routes {
    /// The share of doubtful answers above which doubtful removals stop.
    private static let brakeShare = 0.2

    /// The routes for the credentials that the settings have.
    package convenience init(_ settings: Settings, in surroundings: RouteSurroundings) throws {
        let tls = try TLSClientContext(extraCA: settings.extraCA, alpn: ["h2"])
        self.init(
            apns: try Self.apns(settings.apns, tls, surroundings),
            fcm: Self.fcm(settings, tls, surroundings)
        )
    }

    private static func apns(
        _ settings: APNsSettings,
        _ tls: TLSClientContext,
        _ surroundings: RouteSurroundings
    ) throws(KeyError) -> [APNsEnvironment: Route] {
        guard let credential = settings.credential else { return [:] }
        let loop = surroundings.loop
        let token = try APNsProviderToken(credential, now: loop.unixMilliseconds)
        var options = HTTP2Options()
        options.unprovenStreamLimit = 1
        // Apple asks for one after an hour; networks forget silent connections sooner.
        options.pingInterval = .seconds(60)
        var routes: [APNsEnvironment: Route] = [:]
        for environment in APNsEnvironment.allCases {
            let url = settings.url(of: environment)
            let provider = APNsProvider(authority: url.authority, token: token) { loop.unixMilliseconds }
            let route = make("apns \(environment.rawValue)", provider, surroundings)
            route.open(to: .tcp(host: url.host, port: url.port), tls: tls, options: options)
            routes[environment] = route
        }
        return routes
    }

    private static func fcm(
        _ settings: Settings,
        _ tls: TLSClientContext,
        _ surroundings: RouteSurroundings
    ) -> Route? {
        guard let account = settings.fcm.serviceAccount else { return nil }
        let token = FCMTokenSource(account, extraCA: settings.extraCA, loop: surroundings.loop, log: surroundings.log)
        let url = settings.fcm.url
        let provider = FCMProvider(authority: url.authority, projectID: account.projectID, token: token)
        var options = HTTP2Options()
        // Google ends connections on which more streams are opened, and those that are pinged often.
        options.streamLimit = 100
        options.maximumConnections = 16
        let route = make("fcm \(account.projectID)", provider, surroundings)
        route.open(to: .tcp(host: url.host, port: url.port), tls: tls, options: options)
        token.start()
        return route
    }

    private static func make(_ name: String, _ provider: any Provider, _ surroundings: RouteSurroundings) -> Route {
        let settlement = Settlement(
            routeName: name,
            registrations: surroundings.registrations,
            counters: surroundings.counters,
            retryPolicy: RetryPolicy(),
            brake: RemovalBrake(maximumShare: brakeShare),
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
