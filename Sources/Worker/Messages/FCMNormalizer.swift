import Encoding

/// Turns `pn_fcm` or `pn_gcm` into a message of FCM's HTTP v1 interface.
///
/// Fields of the legacy interface move to their v1 place, under either key; what v1 would refuse is left out. What is
/// there at the v1 place already wins. Each change is a notice. Source of the fields: Firebase, REST resource
/// projects.messages, and "Migrate from legacy FCM APIs to HTTP v1".
struct FCMNormalizer {
    /// Keys without a place in v1 go to `data`, as the legacy shape of `pn_gcm` allowed; those of `pn_fcm` are dropped.
    private let keepsUnknownKeys: Bool
    /// When the message was received, in unix seconds.
    private let received: Int64
    private let collectsNotices: Bool
    private(set) var message = FCMObject()
    /// The message is only to be checked by FCM.
    private(set) var isValidatedOnly = false
    private(set) var notices: [PlanNotice] = []
    /// Bytes of the names and values of `data`.
    private(set) var dataBytes = 0
    /// APNs headers that follow from legacy fields; they are sent if the message has an `apns` block.
    private var apnsHeaders: [(name: String, value: [UInt8])] = []
    /// Keys without a place in v1, on their way to `data`.
    private var laterData: [(name: String, value: JSONValue)] = []
    /// Fields of `notification` for which there are other places, until all of those are known.
    var laterNotification: [(name: String, value: JSONValue)] = []

    init(_ value: JSONValue, isLegacyKey: Bool, received: Int64, collectsNotices: Bool) {
        keepsUnknownKeys = isLegacyKey
        self.received = received
        self.collectsNotices = collectsNotices
        let members = FCMObject.lastMembers(of: value).compactMap { member in
            member.key.string.map { (name: $0, value: member.value) }
        }
        for (name, value) in members where Self.blocks.contains(name) { takeBlock(name, value) }
        for (name, value) in laterNotification { moveNotification(name, value) }
        for (name, value) in members where !Self.blocks.contains(name) { take(name, value) }
        addLaterData()
        addAPNsHeaders()
    }

    /// The fields of a v1 message, less its targets.
    private static let blocks: Set<String> = [
        "data", "notification", "android", "webpush", "apns", "fcm_options", "fcmOptions",
    ]

    mutating func notice(_ key: String, _ text: @autoclosure () -> String) {
        // One more than is kept tells that there are more.
        guard collectsNotices, notices.count <= PlanBuilder.maximumNotices else { return }
        notices.append(PlanNotice(key: key, text: "\(Printable.value(key)) \(text())"))
    }

    private mutating func takeBlock(_ name: String, _ value: JSONValue) {
        if value.isNull { return notice(name, "is null; it was left out") }
        if name == "data" {
            let data = data(value, path: name)
            dataBytes = data.bytes
            return message.append(name, .object(data.object))
        }
        guard value.isObject else { return notice(name, "is \(value.kind.name), not an object; it was left out") }
        switch name {
        case "notification":
            takeNotification(value)
        case "android":
            message.append(name, .object(block(value, path: name, data: true, whole: nil)))
        case "webpush":
            message.append(name, .object(block(value, path: name, data: true, whole: "notification")))
        case "apns":
            message.append(name, .object(block(value, path: name, data: false, whole: "payload")))
        default:
            noticeNulls(value, path: name)
            message.append(name, .json(value, keepsNulls: false))
        }
    }

    /// A platform's block: its `data` with texts only, its member `whole` with its nulls.
    private mutating func block(_ value: JSONValue, path: String, data hasData: Bool, whole: String?) -> FCMObject {
        var object = FCMObject()
        for member in FCMObject.lastMembers(of: value) {
            let name = member.key.string ?? ""
            let inside = "\(path).\(name)"
            if member.value.isNull {
                notice(inside, "is null; it was left out")
            } else if hasData, name == "data" {
                object.append(name, .object(data(member.value, path: inside).object))
            } else if name == whole {
                object.append(name, .json(member.value, keepsNulls: true))
            } else {
                noticeNulls(member.value, path: inside)
                object.append(name, .json(member.value, keepsNulls: false))
            }
        }
        return object
    }

    private mutating func noticeNulls(_ value: JSONValue, path: String) {
        guard collectsNotices, value.containsNull else { return }
        notice(path, "has members that are null; they were left out")
    }

    /// A key at the root that v1 does not have.
    private mutating func take(_ name: String, _ value: JSONValue) {
        if Self.controlKeys.contains(name) { return }
        if name.hasPrefix("pn_") { return notice(name, "is not for FCM; it was left out") }
        if value.isNull { return notice(name, "is null; it was left out") }
        switch name {
        case "token", "topic", "condition", "fid", "to", "registration_ids", "notification_key":
            notice(name, "was left out: pushes go to the devices registered on the channel")
        case "delay_while_idle":
            notice(name, "was left out: FCM does not know it any more")
        case "dry_run", "validate_only":
            let isAsked = value.bool == true || value.equals("true")
            if isAsked { isValidatedOnly = true }
            notice(name, isAsked ? "was moved to validate_only: FCM only checks the message" : "was left out")
        case "collapse_key", "restricted_package_name":
            takeText(name, value)
        case "priority": takePriority(value)
        case "time_to_live": takeTimeToLive(value)
        case "content_available": takeFlag(name, value, as: "content-available")
        case "mutable_content": takeFlag(name, value, as: "mutable-content")
        default: takeUnknown(name, value)
        }
    }

    /// Instructions for us.
    private static let controlKeys: Set<String> = ["pn_exceptions", "pn_debug", "pn_ttl"]

    private mutating func takeUnknown(_ name: String, _ value: JSONValue) {
        guard keepsUnknownKeys else { return notice(name, "is no field of an FCM message; it was left out") }
        if Self.isReserved(name) { return notice(name, "is reserved by FCM; it was left out") }
        laterData.append((name, value))
    }

    /// Adds the keys without a place in v1 to `data`, whose own members win.
    private mutating func addLaterData() {
        guard !laterData.isEmpty else { return }
        var data = message["data"]?.opened ?? FCMObject()
        let taken = Set(data.members.map(\.name))
        for (name, value) in laterData {
            guard !taken.contains(name) else {
                notice(name, "was left out: \(Printable.value("data.\(name)")) is there already")
                continue
            }
            dataBytes += name.utf8.count + Self.textBytes(value)
            data.append(name, .text(of: value))
            notice(name, "was moved to \(Printable.value("data.\(name)"))")
        }
        message.set("data", .object(data))
    }

    /// How many bytes a value has as a text.
    static func textBytes(_ value: JSONValue) -> Int {
        value.stringBytes?.count ?? value.range.count
    }

    private mutating func takeText(_ name: String, _ value: JSONValue) {
        guard let text = Self.scalar(value) else {
            return notice(name, "is \(value.kind.name), not a text; it was left out")
        }
        move(name, text, to: ["android", name])
        if name == "collapse_key", let bytes = value.stringBytes, (1...64).contains(bytes.count) {
            apnsHeaders.append(("apns-collapse-id", bytes))
        }
    }

    private mutating func takePriority(_ value: JSONValue) {
        let isHigh: Bool
        switch value.string?.lowercased() ?? String(decoding: value.text, as: UTF8.self) {
        case "high", "10": isHigh = true
        case "normal", "5": isHigh = false
        default: return notice("priority", "is neither \"high\" nor \"normal\"; it was left out")
        }
        move("priority", .text(Array((isHigh ? "HIGH" : "NORMAL").utf8)), to: ["android", "priority"])
        apnsHeaders.append(("apns-priority", Array((isHigh ? "10" : "5").utf8)))
    }

    private mutating func takeTimeToLive(_ value: JSONValue) {
        guard let seconds = value.double ?? value.string.flatMap(Double.init), seconds.isFinite || seconds > 0 else {
            return notice("time_to_live", "is not a number of seconds; it was left out")
        }
        // FCM's longest: four weeks.
        let whole = Int64(min(max(seconds, 0), 2_419_200))
        move("time_to_live", .text(Array("\(whole)s".utf8)), to: ["android", "ttl"])
        apnsHeaders.append(("apns-expiration", Array(String(received + whole).utf8)))
    }

    private mutating func takeFlag(_ name: String, _ value: JSONValue, as apsName: String) {
        guard value.bool == true || value.double == 1 || value.equals("true") || value.equals("1") else {
            return notice(name, "is not true; it was left out")
        }
        move(name, .bytes([UInt8(ascii: "1")]), to: ["apns", "payload", "aps", apsName])
    }

    private mutating func addAPNsHeaders() {
        guard message["apns"] != nil else { return }
        for (name, value) in apnsHeaders {
            _ = message.insert(.text(value), at: ["apns", "headers", name])
        }
    }

    /// Moves a field of the legacy shape to its v1 place, unless there is something already.
    mutating func move(_ key: String, _ node: FCMNode, to path: [String]) {
        let place = path.joined(separator: ".")
        if message.insert(node, at: path[...]) {
            notice(key, "was moved to \(Printable.value(place))")
        } else {
            notice(key, "was left out: \(Printable.value(place)) is there already, or cannot be")
        }
    }

    /// A text, number or boolean as a text; nil of anything else.
    static func scalar(_ value: JSONValue) -> FCMNode? {
        value.isObject || value.isArray || value.isNull ? nil : .text(of: value)
    }

    mutating func appendNotification(_ object: FCMObject) {
        message.append("notification", .object(object))
    }
}
