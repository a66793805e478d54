import Encoding
import Transport

/// How a simulator's connections behave whatever is asked on them: faults that belong to no single push.
///
/// A value type without I/O. As text a JSON object; every member may be left out:
///
/// - `gateway`: `apns` or `fcm`; both without.
/// - `goaway_every`: GOAWAY after so many requests on a connection; `goaway_data` is its debug data, a text or JSON.
/// - `errors_limit`: the connection is closed after so many answers of 400 and more, 410 not counted.
/// - `streams_after` and `streams`: after so many requests on a connection it allows only so many streams.
/// - `settings_delay_ms`: the first SETTINGS of new connections come so late.
/// - `ignore_pings`: PINGs on new connections get no answer.
/// - `refuse_connections`: new connections are closed at once.
/// - `cut_every_ms`: so often the connection with the most open requests is cut; `cut` says how: `drop` (the default:
///   closed without a word), `reset` (TCP reset) or `mute` (nothing is read or written any more).
package struct Conduct: Equatable, Sendable {
    package enum Cut: String, CaseIterable, Sendable {
        case drop, reset, mute
    }

    package var gateway: String?
    package var requestsToGoAway: Int?
    package var goAwayData: [UInt8] = []
    package var errorLimit: Int?
    package var requestsToStreamChange: Int?
    package var changedStreams: UInt32 = 1
    package var settingsDelay: Duration = .zero
    package var ignoresPings = false
    package var refusesConnections = false
    package var cutInterval: Duration?
    package var cut = Cut.drop

    /// No faults.
    package init() {}

    /// Reads a JSON object.
    package init(_ text: [UInt8]) throws(Script.Fault) {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONDocument(text).root
        } catch {
            throw Script.Fault("the conduct is \(error)")
        }
        guard root.isObject else { throw Script.Fault("the conduct is \(root.kind.name); it must be an object") }
        for member in root.members {
            let name = member.key.string ?? ""
            guard Self.members.contains(name) else {
                throw Script.Fault(
                    "the conduct has a member \"\(name)\"; it may have \(Self.members.joined(separator: ", "))"
                )
            }
        }
        try read(root)
    }

    private static let members = [
        "gateway", "goaway_every", "goaway_data", "errors_limit", "streams_after", "streams", "settings_delay_ms",
        "ignore_pings", "refuse_connections", "cut_every_ms", "cut",
    ]

    private mutating func read(_ root: JSONValue) throws(Script.Fault) {
        gateway = root["gateway"]?.string
        requestsToGoAway = try Self.count(root, "goaway_every")
        if let data = root["goaway_data"] { goAwayData = data.string.map { Array($0.utf8) } ?? Array(data.text) }
        errorLimit = try Self.count(root, "errors_limit")
        requestsToStreamChange = try Self.count(root, "streams_after")
        if let streams = root["streams"]?.integer { changedStreams = UInt32(clamping: streams) }
        settingsDelay = .milliseconds(max(0, root["settings_delay_ms"]?.integer ?? 0))
        ignoresPings = root["ignore_pings"]?.bool ?? false
        refusesConnections = root["refuse_connections"]?.bool ?? false
        cutInterval = try Self.count(root, "cut_every_ms").map { .milliseconds($0) }
        guard let name = root["cut"]?.string else { return }
        guard let cut = Cut(rawValue: name) else {
            let names = Cut.allCases.map(\.rawValue).joined(separator: ", ")
            throw Script.Fault("the conduct has the cut \"\(name)\"; it may be \(names)")
        }
        self.cut = cut
    }

    private static func count(_ root: JSONValue, _ name: StaticString) throws(Script.Fault) -> Int? {
        guard let value = root[name] else { return nil }
        guard let number = value.integer, (1...1_000_000_000).contains(number) else {
            throw Script.Fault("the conduct's \(name) must be a number from 1 to 1000000000")
        }
        return Int(number)
    }

    func isFor(_ gateway: String) -> Bool { self.gateway ?? gateway == gateway }
}
