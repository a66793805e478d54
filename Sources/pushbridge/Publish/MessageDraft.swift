import Encoding
import Worker

/// A message in the making: what the options of `publish` say, as JSON.
struct MessageDraft {
    var title: String?
    var body: String?
    var badge: Int?
    var sound: String?
    var data: [(key: String, value: String)] = []
    /// Where it goes at APNs; nil: nowhere.
    var apns: APNsPlace?
    var pushType: String?
    var isForFCM = false
    var asksForTraces = false

    enum APNsPlace: Equatable {
        case topic(String, APNsEnvironment)
        /// The devices registered without a topic.
        case legacy
    }

    /// Whether people will see or hear something.
    private var hasAlert: Bool { title != nil || body != nil }
    private var isEmpty: Bool { !hasAlert && badge == nil && sound == nil && data.isEmpty }

    /// Reads the options.
    init(_ arguments: Arguments) throws(UsageError) {
        title = arguments["title"]
        body = arguments["body"]
        badge = try arguments.integer("badge", in: 0...Int(Int32.max))
        sound = arguments["sound"]
        pushType = arguments["push-type"]
        isForFCM = arguments.has("fcm")
        asksForTraces = arguments.has("debug") || arguments.has("trace")
        for pair in arguments.all("data") { data.append(try Self.pair(pair)) }
        apns = try Self.place(arguments)
        try check()
    }

    private func check() throws(UsageError) {
        guard apns != nil || isForFCM else {
            throw UsageError("say for whom: --topic TOPIC (APNs), --no-topic (APNs, legacy form), --fcm, or several")
        }
        guard !isEmpty else {
            throw UsageError("say what: --title, --body, --badge, --sound or --data, or a whole message with --message")
        }
        if let pushType {
            guard apns != nil else { throw UsageError("--push-type says nothing without --topic") }
            guard apns != .legacy else { throw UsageError("--push-type needs --topic: the legacy form has none") }
            let isWord = pushType.utf8.allSatisfy { $0 == 0x2D || (0x61...0x7A).contains($0) }
            guard isWord, (1...64).contains(pushType.utf8.count) else {
                throw UsageError(
                    "--push-type is \"\(Printable.value(pushType))\", and may have letters a to z and hyphens"
                )
            }
        }
        for (key, _) in data where apns != nil && (key == "aps" || key.hasPrefix("pn_")) {
            throw UsageError("--data cannot set \"\(key)\", which has a meaning of its own")
        }
    }

    private static func place(_ arguments: Arguments) throws(UsageError) -> APNsPlace? {
        guard let topic = arguments["topic"] else {
            guard !arguments.has("environment") else { throw UsageError("--environment says nothing without --topic") }
            return arguments.has("no-topic") ? .legacy : nil
        }
        guard !arguments.has("no-topic") else { throw UsageError("--topic and --no-topic exclude each other") }
        let environment = arguments["environment"] ?? APNsEnvironment.development.rawValue
        let kind = try DeviceOptions.refusing { () throws(RegistrationRefusal) in
            try RegistrationKind.apns(environment: environment, topic: topic)
        }
        guard case .apns(let known, _) = kind else { return nil }
        return .topic(topic, known)
    }

    private static func pair(_ text: String) throws(UsageError) -> (key: String, value: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw UsageError("--data is \"\(Printable.value(text))\", and should be KEY=VALUE")
        }
        return (String(parts[0]), String(parts[1]))
    }
}

// MARK: JSON

extension MessageDraft {
    /// The message.
    var bytes: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        if asksForTraces {
            json.key("pn_debug")
            json.bool(true)
        }
        if let apns { writeAPNs(apns, &json) }
        if isForFCM { writeFCM(&json) }
        json.endObject()
        return json.bytes
    }

    private func writeAPNs(_ place: APNsPlace, _ json: inout JSONWriter) {
        json.key("pn_apns")
        json.beginObject()
        json.key("aps")
        json.beginObject()
        if hasAlert {
            json.key("alert")
            writeNotification(&json)
        }
        if let badge {
            json.key("badge")
            json.integer(badge)
        }
        if let sound { json.member("sound", sound) }
        if !hasAlert, badge == nil, sound == nil {
            // Data alone wakes the app and shows nothing.
            json.key("content-available")
            json.integer(1)
        }
        json.endObject()
        for (key, value) in data { json.member(key, value) }
        if case .topic(let topic, let environment) = place { writePush(topic, environment, &json) }
        json.endObject()
    }

    private func writePush(_ topic: String, _ environment: APNsEnvironment, _ json: inout JSONWriter) {
        json.key("pn_push")
        json.beginArray()
        json.beginObject()
        json.key("targets")
        json.beginArray()
        json.beginObject()
        json.member("topic", topic)
        json.member("environment", environment.rawValue)
        json.endObject()
        json.endArray()
        json.member("version", "v2")
        if let pushType { json.member("push_type", pushType) }
        json.endObject()
        json.endArray()
    }

    private func writeFCM(_ json: inout JSONWriter) {
        json.key("pn_fcm")
        json.beginObject()
        if hasAlert {
            json.key("notification")
            writeNotification(&json)
        }
        if badge != nil || sound != nil {
            json.key("android")
            json.beginObject()
            json.key("notification")
            json.beginObject()
            if let badge {
                json.key("notification_count")
                json.integer(badge)
            }
            if let sound { json.member("sound", sound) }
            json.endObject()
            json.endObject()
        }
        if !data.isEmpty {
            json.key("data")
            json.beginObject()
            for (key, value) in data { json.member(key, value) }
            json.endObject()
        }
        json.endObject()
    }

    private func writeNotification(_ json: inout JSONWriter) {
        json.beginObject()
        if let title { json.member("title", title) }
        if let body { json.member("body", body) }
        json.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ value: String) {
        key(name)
        string(value)
    }
}
