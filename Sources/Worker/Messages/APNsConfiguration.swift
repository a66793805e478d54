import Encoding

/// One configuration of `pn_push`, read: what its targets have in common.
struct APNsConfiguration {
    var pushType = PushType.alert
    var priority = 10
    /// Unix seconds.
    var expiration: Int64?
    var collapseID: [UInt8]?
    var authMethod = APNsAuthMethod.token
    var exclusions: Set<[UInt8]> = []
    /// Why nothing of it can be sent.
    var failure: TargetFailure?
}

extension PlanBuilder {
    /// Reads a configuration; nil for `configuration`: the legacy form, which has none.
    mutating func read(_ configuration: JSONValue?, of payload: APNsPayload, exclusions: Set<[UInt8]>)
        -> APNsConfiguration
    {
        var read = APNsConfiguration()
        read.exclusions = exclusions
        if let configuration {
            checkVersion(configuration)
            readAuthMethod(configuration, to: &read)
            readPushType(configuration, of: payload, to: &read)
            readExpiration(configuration, to: &read)
            readPriority(configuration, to: &read)
            addExclusions(Self.exclusionLists(of: configuration), isCaseIgnored: true, to: &read.exclusions)
        } else {
            read.pushType = payload.inferredPushType
            read.priority = read.pushType.defaultPriority
        }
        readCollapseID(configuration, default: payload.collapseID, to: &read)
        return read
    }

    /// The exclusion lists of a configuration or target, under each of their names.
    static func exclusionLists(of object: JSONValue) -> [(key: String, value: JSONValue?)] {
        [
            ("excluded_devices", object["excluded_devices"]), ("exclude_devices", object["exclude_devices"]),
            ("excludedDevices", object["excludedDevices"]), ("excludeDevices", object["excludeDevices"]),
        ]
    }

    private mutating func checkVersion(_ configuration: JSONValue) {
        guard let version = present(configuration, "version"), !version.equals("v2") else { return }
        notice("version", "version is \(Self.shown(version)), not \"v2\"; it was processed as v2")
    }

    private mutating func readAuthMethod(_ configuration: JSONValue, to read: inout APNsConfiguration) {
        guard let value = present(configuration, "auth_method", "authMethod") else { return }
        switch value.string?.lowercased() {
        case "token": read.authMethod = .token
        case "cert", "certificate": read.authMethod = .certificate
        default:
            notice("auth_method", "auth_method is \(Self.shown(value)), not \"token\" or \"cert\"; token was taken")
        }
    }

    private mutating func readPushType(
        _ configuration: JSONValue,
        of payload: APNsPayload,
        to read: inout APNsConfiguration
    ) {
        guard let value = present(configuration, "push_type", "pushType") else {
            read.pushType = payload.inferredPushType
            return
        }
        read.pushType = PushType(name: value.string ?? String(decoding: value.text.prefix(256), as: UTF8.self))
        guard value.isString, read.pushType.isWellFormed else {
            read.failure = TargetFailure(
                reason: "InvalidPushType",
                text: "push_type is \(Self.shown(value)); it may be 1 to 64 of a to z and hyphens, such as \"alert\""
            )
            return
        }
        if !read.pushType.isKnown {
            notice(
                "push_type",
                "push_type \(Self.shown(value)) is not one that Apple is known to have; it was sent as it is"
            )
        }
    }

    private mutating func readExpiration(_ configuration: JSONValue, to read: inout APNsConfiguration) {
        guard let value = present(configuration, "expiration") else { return }
        read.expiration = Expiration.seconds(value)
        if read.expiration == nil {
            notice(
                "expiration",
                "expiration is \(Self.shown(value)), neither an ISO 8601 date and time nor epoch seconds; it was ignored"
            )
        }
    }

    private mutating func readPriority(_ configuration: JSONValue, to read: inout APNsConfiguration) {
        read.priority = read.pushType.defaultPriority
        guard let value = present(configuration, "priority") else { return }
        let number = value.integer ?? value.string.flatMap { Int64($0) }
        guard let number, read.pushType.allows(priority: number) else {
            notice(
                "priority",
                "priority is \(Self.shown(value)), which Apple does not take for \(Printable.value(read.pushType.name)); "
                    + "\(read.priority) was sent"
            )
            return
        }
        read.priority = Int(number)
    }

    /// The collapse id, from the configuration or, as the default for all, from `pn_apns`.
    private func readCollapseID(
        _ configuration: JSONValue?,
        default shared: JSONValue?,
        to read: inout APNsConfiguration
    ) {
        let own = configuration.flatMap { present($0, "collapse_id", "pn_collapse_id", "collapseId") }
        guard let value = own ?? shared.flatMap(Self.present) else { return }
        let bytes = value.stringBytes ?? Array(value.text)
        read.collapseID = bytes
        if !value.isString || !Self.isCollapseID(bytes), read.failure == nil {
            read.failure = TargetFailure(
                reason: "BadCollapseId",
                text:
                    "the collapse id is \(Self.shown(value)); it may be a text of 1 to 64 bytes without control characters"
            )
        }
    }

    /// 1 to 64 bytes without control characters; nor may a header begin or end with a space (RFC 9113 section 8.2.1).
    private static func isCollapseID(_ bytes: [UInt8]) -> Bool {
        guard (1...64).contains(bytes.count), bytes.first != 0x20, bytes.last != 0x20 else { return false }
        return String(decoding: bytes, as: UTF8.self).unicodeScalars.allSatisfy {
            $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
        }
    }

    /// A value as notices and errors show it.
    static func shown(_ value: JSONValue) -> String {
        Printable.value(value.text)
    }
}
