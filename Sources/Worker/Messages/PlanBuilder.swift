import Encoding

/// Builds the plan of one message: reads the root, and leaves each gateway's object to its own part.
struct PlanBuilder {
    /// How long a push may be sent when the message says nothing.
    static let defaultTimeToLive: Int64 = 3_600_000
    /// Within what time the one attempt of `pn_ttl` 0 must begin.
    private static let singleAttemptTime: Int64 = 10_000
    /// Longer times to live are cut to this (1000 years), so that no sum overflows.
    private static let maximumTimeToLive = 31_536_000_000_000.0

    /// More targets of one message are refused: each walks a set of devices and may hold thousands of exclusions.
    static let maximumTargets = 1000
    private static let maximumFailures = 100
    /// More notices on one message are not shown.
    static let maximumNotices = 100

    private let root: JSONValue
    let received: Int64
    let settings: PlanSettings
    private let explaining: Bool
    var plan = Plan()
    /// Where in the plan's targets a target is.
    var places: [TargetIdentity: Int] = [:]

    init(root: JSONValue, received: Int64, settings: PlanSettings, explaining: Bool) {
        self.root = root
        self.received = received
        self.settings = settings
        self.explaining = explaining
    }

    mutating func build() {
        var keys = RootKeys()
        for member in root.members { keys.note(member) }
        let apns = keys.apns.flatMap { APNsPayload($0) }
        plan.isDebugAsked =
            keys.debug?.bool == true || apns?.debug?.bool == true
            || keys.fcm?["pn_debug"]?.bool == true || keys.gcm?["pn_debug"]?.bool == true
        if let apns {
            plan.gateways.append(.apns)
            plan(apns, root: keys)
        } else if let value = keys.apns.flatMap(Self.present) {
            refuse(value, of: "pn_apns", .apns, reason: "PayloadEmpty")
        }
        planFCM(root: keys)
        if plan.gateways.isEmpty { notice("pn_apns", "pn_apns, pn_fcm and pn_gcm are null or empty; nothing is sent") }
        boundNotices()
    }

    /// Whether anybody will read the notices.
    var collectsNotices: Bool { plan.isDebugAsked || explaining }

    /// Keeps the traces of one message few, whatever it holds.
    private mutating func boundNotices() {
        let surplus = plan.notices.count - Self.maximumNotices
        guard surplus > 0 else { return }
        plan.notices.removeLast(surplus)
        plan.notices.append(PlanNotice(key: "pn_debug", text: "There are more notices; only the first are shown"))
    }

    mutating func refuse(_ value: JSONValue, of key: String, _ gateway: Gateway, reason: String) {
        plan.gateways.append(gateway)
        fail(gateway, reason: reason, "\(key) is \(value.kind.name), not an object; nothing is sent")
    }

    /// A value, unless it says that there is none: `null` and `""`.
    static func present(_ value: JSONValue) -> JSONValue? {
        value.isNull || (value.isString && value.range.count == 2) ? nil : value
    }

    /// The value of the first of an object's keys that has one.
    func present(_ object: JSONValue, _ names: StaticString...) -> JSONValue? {
        for name in names {
            if let value = object[name].flatMap(Self.present) { return value }
        }
        return nil
    }

    mutating func notice(_ key: @autoclosure () -> String, _ text: @autoclosure () -> String) {
        guard collectsNotices, plan.notices.count <= Self.maximumNotices else { return }
        plan.notices.append(PlanNotice(key: key(), text: text()))
    }

    /// Notes what cannot be sent and has no devices to look up; of very many only the first.
    mutating func fail(
        _ gateway: Gateway,
        environment: String? = nil,
        topic: String? = nil,
        reason: String,
        _ text: String
    ) {
        guard plan.failures.count < Self.maximumFailures else { return }
        plan.failures.append(
            PlanFailure(gateway: gateway, environment: environment, topic: topic, reason: reason, text: text)
        )
    }

    /// The time to live that a gateway's object or the root asks for; nil when none does.
    mutating func timeToLive(_ nested: JSONValue?, root: JSONValue?) -> TimeToLive? {
        for value in [nested, root] {
            guard let value = value.flatMap(Self.present) else { continue }
            guard let seconds = value.double, seconds >= 0 else {
                notice("pn_ttl", "pn_ttl is not a number of seconds from 0 up; it was ignored")
                continue
            }
            if seconds == 0 { return TimeToLive(milliseconds: Self.singleAttemptTime, isSingleAttempt: true) }
            let milliseconds = Int64(min(seconds * 1000, Self.maximumTimeToLive))
            return TimeToLive(milliseconds: max(1, milliseconds), isSingleAttempt: false)
        }
        return nil
    }

    /// Adds the tokens of exclusion lists; `isCaseIgnored`: in lower case.
    mutating func addExclusions(
        _ lists: [(key: String, value: JSONValue?)],
        isCaseIgnored: Bool,
        to set: inout Set<[UInt8]>
    ) {
        for (key, value) in lists {
            guard let value = value.flatMap(Self.present) else { continue }
            if value.isString {
                notice(key, "\(key) is a text; it was taken as a list of one device")
                addExclusion(value, isCaseIgnored: isCaseIgnored, to: &set)
            } else if value.isArray {
                for element in value.elements where Self.present(element) != nil {
                    if element.isString {
                        addExclusion(element, isCaseIgnored: isCaseIgnored, to: &set)
                    } else {
                        notice(key, "\(key) holds \(element.kind.name), which is no device token; it was ignored")
                    }
                }
            } else {
                notice(key, "\(key) is \(value.kind.name), not a list of device tokens; it was ignored")
            }
        }
    }

    private func addExclusion(_ text: JSONValue, isCaseIgnored: Bool, to set: inout Set<[UInt8]>) {
        guard var token = text.stringBytes else { return }
        if isCaseIgnored { token.makeASCIILowercase() }
        set.insert(token)
    }
}

/// How long pushes may be sent, from the receipt of their message.
struct TimeToLive {
    let milliseconds: Int64
    let isSingleAttempt: Bool
}

/// What makes two targets of one message the same.
struct TargetIdentity: Hashable {
    let environment: APNsEnvironment
    let topic: String
    let pushType: PushType
    let collapseID: [UInt8]?
}

/// The members of a message's root that matter; of repeated ones the last.
struct RootKeys {
    private(set) var apns: JSONValue?
    private(set) var fcm: JSONValue?
    private(set) var gcm: JSONValue?
    private(set) var push: JSONValue?
    private(set) var debug: JSONValue?
    private(set) var timeToLive: JSONValue?

    mutating func note(_ member: JSONMember) {
        let key = member.key
        if key.equals("pn_apns") {
            apns = member.value
        } else if key.equals("pn_fcm") {
            fcm = member.value
        } else if key.equals("pn_gcm") {
            gcm = member.value
        } else if key.equals("pn_push") {
            push = member.value
        } else if key.equals("pn_debug") {
            debug = member.value
        } else if key.equals("pn_ttl") {
            timeToLive = member.value
        }
    }
}

extension [UInt8] {
    /// Turns `A` to `Z` into `a` to `z`.
    mutating func makeASCIILowercase() {
        for index in indices where (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self[index]) {
            self[index] |= 0x20
        }
    }
}
