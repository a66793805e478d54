import Encoding

/// What a field of an FCM request may hold (Google: FCM REST resource `projects.messages`).
indirect enum FCMShape: Sendable {
    case string
    case boolean
    case integer
    case number
    /// Seconds with up to nine decimals, ending in `s` (Google: JSON mapping of `Duration`).
    case duration
    case oneOf(Set<String>)
    case strings
    case list(FCMShape)
    /// A map of strings to strings.
    case stringMap
    /// Any JSON object.
    case anyObject
    /// Known fields only, by their names in lowerCamelCase; snake_case is accepted alike.
    case object([String: FCMShape])

    /// The whole request.
    static let request = object(["validateOnly": .boolean, "message": message])

    private static let message = object([
        "token": .string, "topic": .string, "condition": .string, "fid": .string, "name": .string,
        "data": .stringMap,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "android": android, "apns": apns, "webpush": webpush,
        "fcmOptions": .object(["analyticsLabel": .string]),
    ])

    private static let android = object([
        "collapseKey": .string, "priority": .oneOf(["NORMAL", "HIGH"]), "ttl": .duration,
        "restrictedPackageName": .string, "data": .stringMap, "notification": androidNotification,
        "fcmOptions": .object(["analyticsLabel": .string]), "directBootOk": .boolean,
        "bandwidthConstrainedOk": .boolean, "restrictedSatelliteOk": .boolean,
    ])

    private static let androidNotification = object([
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "clickAction": .string, "bodyLocKey": .string, "bodyLocArgs": .strings, "titleLocKey": .string,
        "titleLocArgs": .strings, "channelId": .string, "ticker": .string, "sticky": .boolean, "eventTime": .string,
        "localOnly": .boolean,
        "notificationPriority": .oneOf([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "defaultSound": .boolean, "defaultVibrateTimings": .boolean, "defaultLightSettings": .boolean,
        "vibrateTimings": .list(.duration),
        "visibility": .oneOf(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notificationCount": .integer,
        "lightSettings": .object([
            "color": .object(["red": .number, "green": .number, "blue": .number, "alpha": .number]),
            "lightOnDuration": .duration, "lightOffDuration": .duration,
        ]),
        "image": .string, "proxy": .oneOf(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
        "bypassProxyNotification": .boolean,
    ])

    private static let apns = object([
        "headers": .stringMap, "payload": .anyObject, "liveActivityToken": .string,
        "fcmOptions": .object(["analyticsLabel": .string, "image": .string]),
    ])

    private static let webpush = object([
        "headers": .stringMap, "data": .stringMap, "notification": .anyObject,
        "fcmOptions": .object(["link": .string, "analyticsLabel": .string]),
    ])
}

/// A field that does not fit, as `google.rpc.BadRequest` tells it.
package struct FCMViolation: Equatable, Sendable {
    /// The path of the field, with dots.
    package let field: String
    package let description: String
}

extension FCMShape {
    /// The first violation in a value; nil when it fits.
    func violation(in value: JSONValue, at path: String) -> FCMViolation? {
        switch self {
        case .string: value.isString ? nil : wrong(value, path, "TYPE_STRING")
        case .boolean: value.bool != nil ? nil : wrong(value, path, "TYPE_BOOL")
        case .integer: value.kind == .number && value.integer != nil ? nil : wrong(value, path, "TYPE_INT32")
        case .number: value.kind == .number ? nil : wrong(value, path, "TYPE_FLOAT")
        case .duration: Self.isDuration(value.string) ? nil : wrong(value, path, "google.protobuf.Duration")
        case .oneOf(let names):
            (value.string.map { names.contains($0.uppercased()) } ?? false) ? nil : wrong(value, path, "TYPE_ENUM")
        case .strings: Self.list(.string, value, path)
        case .list(let element): Self.list(element, value, path)
        case .stringMap: Self.stringMap(value, path)
        case .anyObject: value.isObject ? nil : wrong(value, path, "google.protobuf.Struct")
        case .object(let fields): Self.object(fields, value, path)
        }
    }

    private func wrong(_ value: JSONValue, _ path: String, _ type: String) -> FCMViolation {
        let text = String(decoding: value.text.prefix(64), as: UTF8.self)
        return FCMViolation(field: path, description: "Invalid value at '\(path)' (\(type)), \(text)")
    }

    private static func list(_ element: FCMShape, _ value: JSONValue, _ path: String) -> FCMViolation? {
        guard value.isArray else { return element.wrong(value, path, "repeated") }
        for (index, item) in value.elements.enumerated() {
            if let violation = element.violation(in: item, at: "\(path)[\(index)]") { return violation }
        }
        return nil
    }

    private static func stringMap(_ value: JSONValue, _ path: String) -> FCMViolation? {
        guard value.isObject else { return FCMShape.stringMap.wrong(value, path, "Map") }
        for member in value.members where !member.value.isString {
            return FCMShape.string.wrong(member.value, "\(path)[\(member.key.string ?? "")].value", "TYPE_STRING")
        }
        return nil
    }

    private static func object(_ fields: [String: FCMShape], _ value: JSONValue, _ path: String) -> FCMViolation? {
        guard value.isObject else { return FCMShape.object(fields).wrong(value, path, "Object") }
        for member in value.members {
            let name = member.key.string ?? ""
            guard let shape = fields[camelCase(name)] else {
                let description =
                    "Invalid JSON payload received. Unknown name \"\(name)\" at '\(path)': Cannot find field."
                return FCMViolation(field: path, description: description)
            }
            let place = path.isEmpty ? name : "\(path).\(name)"
            if let violation = shape.violation(in: member.value, at: place) { return violation }
        }
        return nil
    }

    private static func isDuration(_ text: String?) -> Bool {
        guard let text, text.hasSuffix("s"), let seconds = Double(text.dropLast()) else { return false }
        return seconds >= 0
    }

    private static func camelCase(_ name: String) -> String {
        let parts = name.split(separator: "_", omittingEmptySubsequences: false)
        guard let first = parts.first else { return name }
        return parts.dropFirst().reduce(String(first)) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }
}
