import Encoding

/// `pn_apns` taken apart: the body that goes to Apple, and what was meant for us.
struct APNsPayload {
    /// All members that are not ours, byte for byte as published, in their order.
    let body: [UInt8]
    private(set) var aps: JSONValue?
    private(set) var push: JSONValue?
    private(set) var debug: JSONValue?
    private(set) var timeToLive: JSONValue?
    private(set) var collapseID: JSONValue?
    /// The exclusion lists under each of their names.
    private(set) var exclusions: [(key: String, value: JSONValue?)] = []

    /// The names of exclusion lists inside `pn_apns`.
    private static let exclusionKeys: [StaticString] = [
        "excluded_devices", "exclude_devices", "excludedDevices", "excludeDevices", "pn_exceptions",
    ]

    /// Nil when the value is no object.
    init?(_ value: JSONValue) {
        guard value.isObject else { return nil }
        let bytes = value.document.bytes
        var body: [UInt8] = []
        body.reserveCapacity(value.range.count)
        body.append(UInt8(ascii: "{"))
        for member in value.members where !APNsPayload.isControl(member.key) {
            if body.count > 1 { body.append(UInt8(ascii: ",")) }
            body.append(contentsOf: bytes[member.range])
        }
        body.append(UInt8(ascii: "}"))
        self.body = body
        for member in value.members { note(member) }
    }

    private mutating func note(_ member: JSONMember) {
        let key = member.key
        if key.equals("aps") {
            aps = member.value
        } else if key.equals("pn_push") {
            push = member.value
        } else if key.equals("pn_debug") {
            debug = member.value
        } else if key.equals("pn_ttl") {
            timeToLive = member.value
        } else if key.equals("pn_collapse_id") {
            collapseID = member.value
        } else if let name = APNsPayload.exclusionKeys.first(where: { key.equals($0) }) {
            exclusions.removeAll { $0.key == name.description }
            exclusions.append((name.description, member.value))
        }
    }

    /// Whether a member is an instruction for us, which never goes to Apple.
    private static func isControl(_ key: JSONValue) -> Bool {
        key.equals("pn_push") || key.equals("pn_debug") || key.equals("pn_ttl") || key.equals("pn_collapse_id")
            || key.equals("pn_other") || exclusionKeys.contains { key.equals($0) }
    }

    /// The push type of a message that names none: silent when `aps` asks for nothing that is seen or heard.
    var inferredPushType: PushType {
        guard let aps, aps["content-available"]?.double == 1 else { return .alert }
        let isSeen = ["alert", "badge", "sound"].contains { (name: StaticString) in
            aps[name].map { !$0.isNull } ?? false
        }
        return isSeen ? .alert : .background
    }
}
