/// The routes of this worker, and which of them a target takes: one for each credential and environment.
///
/// Confined to the worker's loop.
package final class Routes {
    package enum Choice {
        case route(Route)
        /// There is no way for this target: why, for its one traced error.
        case none(TargetEnding)
    }

    private let factory: RouteFactory
    private var table = CredentialTable([])
    /// By the fingerprint of their credential.
    private var ways: [String: CredentialRoutes] = [:]
    /// Of credentials that are gone, until their pushes are done.
    private var retired: [CredentialRoutes] = []

    init(_ credentials: [PreparedCredential], factory: RouteFactory) {
        self.factory = factory
        replace(by: credentials)
    }

    package var credentials: [Credential] { table.credentials }

    /// Those of credentials that are gone included.
    package private(set) var all: [Route] = []

    /// Pushes without an outcome, over all routes.
    package var unfinished: Int { all.reduce(0) { $0 + $1.unfinished } }

    /// Pushes that were sent and have no answer yet, over all routes.
    package var unanswered: Int { all.reduce(0) { $0 + $1.unanswered } }

    /// The route of a target of a message on a channel.
    package func choose(for target: Target, channel: [UInt8]) -> Choice {
        guard let need = CredentialTable.Need(target, channel: channel) else {
            return .none(.failed(reason: "NoCredential", text: "the target has no environment or topic"))
        }
        switch table.choose(for: need, unixSeconds: factory.unixSeconds) {
        case .credential(let index):
            guard let way = ways[table.credentials[index].fingerprint] else { break }
            return .route(way.route(in: target.environment))
        case .none(let reason, let text):
            return .none(.failed(reason: reason, text: text))
        }
        return .none(.failed(reason: "NoCredential", text: "the credential has no route"))
    }

    /// Uses these credentials from now on; false when they are the same as before, for the same uses.
    ///
    /// What is on its way, or waits, stays where it is: a credential that took another's place takes over its pushes.
    @discardableResult
    func replace(by prepared: [PreparedCredential]) -> Bool {
        let credentials = prepared.map(\.credential)
        guard credentials.map(\.use) != table.credentials.map(\.use) else { return false }
        let changes = CredentialChanges(from: table.credentials, to: credentials)
        if !all.isEmpty { factory.log(changes, from: table.credentials, to: credentials) }
        var next: [String: CredentialRoutes] = [:]
        for new in prepared where next[new.credential.fingerprint] == nil {
            let fingerprint = new.credential.fingerprint
            switch changes.origins[fingerprint] {
            case .same:
                next[fingerprint] = ways[fingerprint]
                ways[fingerprint]?.keep(new)
            case .replaces(let old):
                next[fingerprint] = ways[old]
                ways[old]?.replace(by: new)
            case .new, nil: next[fingerprint] = CredentialRoutes(new, factory: factory)
            }
        }
        for fingerprint in changes.gone { ways[fingerprint].map { retire($0) } }
        ways = next
        table = CredentialTable(credentials)
        factory.forgetTokens(except: Set(next.keys))
        list()
        return true
    }

    private func list() {
        all = ways.values.flatMap(\.all) + retired.flatMap(\.all)
    }

    /// Closes the routes of a credential that is gone once they have been without pushes for a while: a message that is
    /// being walked may bring more.
    private func retire(_ way: CredentialRoutes) {
        retired.append(way)
        way.closeWhenQuiet { [weak self] in
            self?.retired.removeAll { $0 === way }
            self?.list()
        }
    }
}
