import Encoding

/// The answers that a user has scripted: rules in order, of which the first that fits a push decides.
///
/// A value type without I/O. As text a JSON array of rules, see ``ScriptRule``.
package struct Script: Sendable {
    /// What is wrong with a script, in a sentence.
    package struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private var rules: [ScriptRule] = []

    /// No rules: everything that passes the checks is accepted.
    package init() {}

    /// Reads a JSON array of rules.
    package init(_ text: [UInt8]) throws(Fault) {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONDocument(text).root
        } catch {
            throw Fault("the script is \(error)")
        }
        guard root.isArray else { throw Fault("the script is \(root.kind.name); it must be an array of rules") }
        var rules: [ScriptRule] = []
        for (index, element) in root.elements.enumerated() {
            rules.append(try ScriptRule(element, place: "rule \(index + 1)"))
        }
        self.rules = rules
    }

    package var isEmpty: Bool { rules.isEmpty }

    /// The answer to a push; nil when no rule fits it.
    package mutating func answer(gateway: String, device: String) -> ScriptedAnswer? {
        for index in rules.indices where rules[index].fits(gateway: gateway, device: device) {
            return rules[index].answer
        }
        return nil
    }
}

/// One rule: which pushes it is for, and what is answered.
///
/// Members: `gateway` (`apns`, `fcm`, `token`; without it both providers, not the token endpoint), `device` (a token),
/// `share` (of the requests, 0 to 1), `share_of_devices` (always the same ones), `times` (how often it applies, then no
/// more); and those of ``ScriptedAnswer``.
struct ScriptRule: Sendable {
    let answer: ScriptedAnswer
    private let gateway: String?
    private let device: String?
    private let share: Double?
    private let deviceShare: Double?
    private var timesLeft: Int64?
    private var owed = 0.0

    init(_ value: JSONValue, place: String) throws(Script.Fault) {
        guard value.isObject else { throw Script.Fault("\(place) is \(value.kind.name); it must be an object") }
        let known = ["gateway", "device", "share", "share_of_devices", "times"] + ScriptedAnswer.members
        for member in value.members {
            let name = member.key.string ?? ""
            guard known.contains(name) else {
                throw Script.Fault("\(place) has a member \"\(name)\"; it may have \(known.joined(separator: ", "))")
            }
        }
        gateway = value["gateway"]?.string
        device = value["device"]?.string?.lowercased()
        share = value["share"]?.double
        deviceShare = value["share_of_devices"]?.double
        timesLeft = value["times"]?.integer
        answer = try ScriptedAnswer(value, place: place)
    }

    /// Whether the rule is for this push; counts it if so.
    mutating func fits(gateway: String, device: String) -> Bool {
        if let wanted = self.gateway ?? (gateway == "token" ? "" : nil), wanted != gateway { return false }
        if let wanted = self.device, wanted != device.lowercased() { return false }
        if let deviceShare, Self.fraction(of: device) >= deviceShare { return false }
        if let timesLeft, timesLeft <= 0 { return false }
        if let share {
            owed += share
            guard owed >= 1 else { return false }
            owed -= 1
        }
        if let timesLeft { self.timesLeft = timesLeft - 1 }
        return true
    }

    /// A number from 0 to 1 that a device always has (FNV-1a).
    static func fraction(of device: String) -> Double {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in device.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Double((hash ^ hash >> 32) % 1_000_000) / 1_000_000
    }
}

/// A scripted answer: a response of the provider, or a fault of the connection.
///
/// Members: `status`, `reason` (APNs' reason, FCM's errorCode, or the token endpoint's error), `timestamp` (APNs 410,
/// unix milliseconds), `retry_after` (the header's text) or `retry_after_date` (seconds from now, as a date), `body`
/// (instead of the provider's JSON), `headers` (an object), `details` (further details of an FCM error, an array),
/// `expires_in` (of a token, seconds), `delay_ms`, and
/// - `fault`, instead of an answer: `drop` (the connection is closed), `abort` (TCP reset), `mute` (nothing is read and
///   written any more), `refuse` (RST_STREAM REFUSED_STREAM), `reset` (RST_STREAM INTERNAL_ERROR), `silent` (no answer
///   at all), `goaway` (GOAWAY, neither this stream nor later ones are processed);
/// - `then`, after the answer: `goaway` (later streams are not processed), `drop`, `mute`;
/// - `goaway_data`: the debug data of these GOAWAYs, a text or JSON.
package struct ScriptedAnswer: Equatable, Sendable {
    package enum Fault: String, CaseIterable, Sendable {
        case drop, abort, mute, refuse, reset, silent, goaway
    }

    package enum Sequel: String, CaseIterable, Sendable {
        case goaway, drop, mute
    }

    static let members = [
        "status", "reason", "timestamp", "retry_after", "retry_after_date", "body", "headers", "details", "expires_in",
        "delay_ms", "fault", "then", "goaway_data",
    ]

    package let status: Int
    package let reason: String?
    package let timestamp: Int64?
    package let retryAfter: String?
    package let body: String?
    package let delay: Duration
    package let fault: Fault?
    package let sequel: Sequel?
    package let goAwayData: [UInt8]
    package let retryAfterSeconds: Int64?
    package let headers: [ScriptedHeader]
    /// JSON elements with commas between.
    package let details: [UInt8]
    package let expiresIn: Int64?

    init(_ value: JSONValue, place: String) throws(Script.Fault) {
        status = Int(value["status"]?.integer ?? 200)
        guard (200...599).contains(status) else { throw Script.Fault("\(place) has the status \(status)") }
        reason = value["reason"]?.string
        timestamp = value["timestamp"]?.integer
        retryAfter = value["retry_after"]?.string ?? value["retry_after"]?.integer.map(String.init)
        body = value["body"]?.string
        delay = .milliseconds(max(0, value["delay_ms"]?.integer ?? 0))
        retryAfterSeconds = value["retry_after_date"]?.integer
        headers =
            value["headers"]?.members.map {
                ScriptedHeader(name: ($0.key.string ?? "").lowercased(), value: $0.value.string ?? "")
            } ?? []
        let elements = value["details"]?.elements.map { Array($0.text) } ?? []
        details = Array(elements.joined(separator: [UInt8(ascii: ",")]))
        expiresIn = value["expires_in"]?.integer
        goAwayData = value["goaway_data"].map { data in data.string.map { Array($0.utf8) } ?? Array(data.text) } ?? []
        fault = try Self.choice(value, "fault", place)
        sequel = try Self.choice(value, "then", place)
    }

    private static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ value: JSONValue,
        _ member: StaticString,
        _ place: String
    ) throws(Script.Fault) -> Choice? {
        guard let name = value[member]?.string else { return nil }
        if let choice = Choice(rawValue: name) { return choice }
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw Script.Fault("\(place) has the \(member) \"\(name)\"; it may be \(names)")
    }
}

/// A header that a script adds to an answer.
package struct ScriptedHeader: Equatable, Sendable {
    package let name: String
    package let value: String
}
