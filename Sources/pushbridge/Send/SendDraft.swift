import Encoding
import Worker

/// A single push in the making: what the options of `send` say, as a message for one target.
struct SendDraft {
    /// What is sent when no payload is given.
    private static let standardAPNs = #"{"aps":{"alert":"Hello from pushbridge","sound":"default"}}"#
    private static let standardFCM = #"{"notification":{"title":"pushbridge","body":"Hello"}}"#
    /// Xcode's key for the app that a payload is for.
    private static let bundleKey = "Simulator Target Bundle"

    /// As messages on Redis are.
    let message: [UInt8]
    let kind: RegistrationKind

    /// Reads the options; `payload` is the file's text, if one was named.
    init(_ arguments: Arguments, payload: [UInt8]?, settings: PlanSettings) throws {
        let isForFCM = arguments.has("fcm")
        let text = payload ?? Array((isForFCM ? Self.standardFCM : Self.standardAPNs).utf8)
        let root: JSONValue
        do {
            root = try JSONDocument(text).root
        } catch {
            throw CommandError("the payload is \(error)")
        }
        guard root.isObject else { throw CommandError("the payload is \(root.kind.name); it must be an object") }
        for name in ["pn_apns", "pn_fcm", "pn_gcm"] where root.members.contains(where: { $0.key.string == name }) {
            throw CommandError("the payload has \(name): it is a whole message, which publish --message sends")
        }
        if isForFCM {
            try Self.refuse(["topic", "environment", "push-type", "priority", "collapse-id", "auth-method"], arguments)
            kind = .fcm
            message = Array(#"{"pn_fcm":"#.utf8) + (root["message"]?.text ?? root.text) + Array("}".utf8)
        } else {
            let topic = arguments["topic"] ?? root["Simulator Target Bundle"]?.string
            guard let topic = topic ?? settings.defaultTopic else {
                throw UsageError(
                    "--topic is missing: the app's bundle ID, which an .apn file may name as \(Self.bundleKey)"
                )
            }
            let environment = arguments["environment"] ?? settings.defaultEnvironment.rawValue
            kind = try DeviceOptions.refusing { () throws(RegistrationRefusal) in
                try RegistrationKind.apns(environment: environment, topic: topic)
            }
            message = try Self.apns(root, kind, arguments)
        }
    }

    private static func refuse(_ names: [String], _ arguments: Arguments) throws(UsageError) {
        for name in names where arguments.has(name) {
            throw UsageError("--\(name) is for APNs; with --fcm it belongs into the payload")
        }
    }

    /// The payload as it stands, but for Xcode's key, with the place that it goes to.
    private static func apns(
        _ root: JSONValue,
        _ kind: RegistrationKind,
        _ arguments: Arguments
    ) throws(UsageError) -> [UInt8] {
        var bytes = Array(#"{"pn_apns":{"#.utf8)
        for member in root.members where member.key.string != bundleKey {
            bytes += member.key.text + [UInt8(ascii: ":")] + member.value.text + [UInt8(ascii: ",")]
        }
        bytes += Array(#""pn_push":["#.utf8)
        bytes += try configuration(kind, arguments)
        return bytes + Array("]}}".utf8)
    }

    private static func configuration(_ kind: RegistrationKind, _ arguments: Arguments) throws(UsageError) -> [UInt8] {
        guard case .apns(let environment, let topic) = kind else { return [] }
        var json = JSONWriter()
        func add(_ name: String, _ value: String?) {
            guard let value else { return }
            json.key(name)
            json.string(value)
        }
        json.beginObject()
        add("version", "v2")
        add("push_type", arguments["push-type"])
        add("collapse_id", arguments["collapse-id"])
        add("auth_method", arguments["auth-method"])
        if let priority = try arguments.integer("priority", in: 1...10) {
            json.key("priority")
            json.integer(priority)
        }
        json.key("targets")
        json.beginArray()
        json.beginObject()
        add("topic", topic)
        add("environment", environment.rawValue)
        json.endObject()
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
