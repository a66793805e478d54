/// The routes of this worker, and which of them a target takes.
///
/// Confined to the worker's loop.
package final class Routes {
    package enum Choice {
        case route(Route)
        /// There is no way for this target: why, for its one traced error.
        case none(TargetEnding)
    }

    private let apns: [APNsEnvironment: Route]
    private let fcm: Route?

    package init(apns: [APNsEnvironment: Route], fcm: Route?) {
        self.apns = apns
        self.fcm = fcm
    }

    package var all: [Route] { Array(apns.values) + (fcm.map { [$0] } ?? []) }

    /// Pushes without an outcome, over all routes.
    package var unfinished: Int { all.reduce(0) { $0 + $1.unfinished } }

    /// Pushes that were sent and have no answer yet, over all routes.
    package var unanswered: Int { all.reduce(0) { $0 + $1.unanswered } }

    /// The route of a target.
    package func choose(for target: Target) -> Choice {
        switch target.gateway {
        case .fcm:
            guard let fcm else {
                return Self.noCredential("no FCM service account is set (PUSHBRIDGE_FCM_SERVICE_ACCOUNT)")
            }
            return .route(fcm)
        case .apns:
            guard target.authMethod == .token else {
                return Self.noCredential("the message asks for an APNs certificate, and none is set")
            }
            guard let environment = target.environment, let route = apns[environment] else {
                return Self.noCredential("no APNs key is set (PUSHBRIDGE_APNS_KEY)")
            }
            return .route(route)
        }
    }

    private static func noCredential(_ text: String) -> Choice {
        .none(.failed(reason: "NoCredential", text: text))
    }
}
