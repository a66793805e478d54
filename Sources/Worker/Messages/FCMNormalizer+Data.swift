import Encoding

extension FCMNormalizer {
    /// Names in `data` that FCM refuses (Firebase, REST resource projects.messages, `data`).
    static func isReserved(_ name: String) -> Bool {
        name == "from" || name == "message_type" || name.hasPrefix("google") || name.hasPrefix("gcm")
    }

    /// A `data` block, in which FCM takes texts only, and how many bytes its names and values have.
    mutating func data(_ value: JSONValue, path: String) -> (object: FCMObject, bytes: Int) {
        var object = FCMObject()
        guard value.isObject else {
            notice(path, "is \(value.kind.name), not an object; it was sent as its member \"data\"")
            object.append("data", .text(of: value))
            return (object, Self.textBytes(value))
        }
        var bytes = 0
        for member in FCMObject.lastMembers(of: value) {
            let name = member.key.string ?? ""
            let key = "\(path).\(name)"
            if member.value.isNull {
                notice(key, "is null; it was left out")
            } else if Self.isReserved(name) {
                notice(key, "is reserved by FCM; it was left out")
            } else {
                if !member.value.isString { notice(key, "is \(member.value.kind.name); it was sent as a text") }
                bytes += name.utf8.count + Self.textBytes(member.value)
                object.append(name, .text(of: member.value))
            }
        }
        return (object, bytes)
    }

    /// `notification`, of which v1 knows title, body and image; the legacy rest belongs to the platforms.
    mutating func takeNotification(_ value: JSONValue) {
        var kept = FCMObject()
        var others: [(name: String, value: JSONValue)] = []
        for member in FCMObject.lastMembers(of: value) {
            let name = member.key.string ?? ""
            if member.value.isNull {
                notice("notification.\(name)", "is null; it was left out")
            } else if ["title", "body", "image"].contains(name) {
                keep(name, member.value, in: &kept)
            } else {
                others.append((name, member.value))
            }
        }
        if !kept.isEmpty || value.isEmpty { appendNotification(kept) }
        laterNotification += others
    }

    private mutating func keep(_ name: String, _ value: JSONValue, in object: inout FCMObject) {
        guard let text = Self.scalar(value) else {
            return notice("notification.\(name)", "is \(value.kind.name), not a text; it was left out")
        }
        if !value.isString { notice("notification.\(name)", "is \(value.kind.name); it was sent as a text") }
        object.append(name, text)
    }

    /// A field of `notification` that v1 has elsewhere, or not at all.
    mutating func moveNotification(_ name: String, _ value: JSONValue) {
        let key = "notification.\(name)"
        switch name {
        case "icon", "color", "sound", "tag", "click_action", "body_loc_key", "title_loc_key", "channel_id", "ticker",
            "android_channel_id":
            guard let text = Self.scalar(value) else {
                return notice(key, "is \(value.kind.name), not a text; it was left out")
            }
            move(key, text, to: ["android", "notification", name == "android_channel_id" ? "channel_id" : name])
        case "body_loc_args", "title_loc_args":
            move(key, Self.list(value), to: ["android", "notification", name])
        case "subtitle":
            guard let text = Self.scalar(value) else {
                return notice(key, "is \(value.kind.name), not a text; it was left out")
            }
            move(key, text, to: ["apns", "payload", "aps", "alert", "subtitle"])
        case "badge":
            guard let badge = value.integer ?? value.string.flatMap({ Int64($0) }) else {
                return notice(key, "is not a whole number; it was left out")
            }
            move(key, .bytes(Array(String(badge).utf8)), to: ["apns", "payload", "aps", "badge"])
        case _ where Self.androidFields.contains(name):
            move(key, .json(value, keepsNulls: false), to: ["android", "notification", name])
        default:
            notice(key, "is no field of an FCM notification; it was left out")
        }
    }

    /// The other fields of v1's `android.notification`.
    private static let androidFields: Set<String> = [
        "sticky", "event_time", "local_only", "notification_priority", "default_sound", "default_vibrate_timings",
        "default_light_settings", "vibrate_timings", "visibility", "notification_count", "light_settings", "proxy",
    ]

    /// Arguments of a localized text as a list of texts; the legacy interface took the list's JSON as a text, too.
    private static func list(_ value: JSONValue) -> FCMNode {
        var list = value
        if let text = value.stringBytes, let inner = try? JSONDocument(text).root, inner.isArray { list = inner }
        var json = JSONWriter()
        json.beginArray()
        for element in list.isArray ? Array(list.elements) : [list] where !element.isNull {
            json.string(element.stringBytes ?? Array(element.text))
        }
        json.endArray()
        return .bytes(json.bytes)
    }
}
