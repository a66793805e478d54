import Encoding
import Worker

/// One line of output about a registry, for people or as JSON.
///
/// The JSON objects have `gateway`, for APNs with a topic `environment` and `topic`, and what the command adds.
struct RegistrationLine {
    private var json = JSONWriter()

    init() {
        json.beginObject()
    }

    mutating func add(_ name: StaticString, _ text: [UInt8]) {
        json.key(name)
        json.string(text)
    }

    mutating func add(_ name: StaticString, _ number: Int64) {
        json.key(name)
        json.integer(number)
    }

    mutating func add(_ kind: RegistrationKind) {
        add("gateway", Array(kind.gateway.rawValue.utf8))
        guard case .apns(let environment, let topic) = kind else { return }
        add("environment", Array(environment.rawValue.utf8))
        add("topic", Array(topic.utf8))
    }

    /// `"channels":[{"channel":"a",…},…]`; the body adds to each object.
    mutating func addChannels<Element>(
        _ elements: [Element],
        _ channel: (Element) -> [UInt8],
        _ body: (inout JSONWriter, Element) -> Void = { _, _ in }
    ) {
        json.key("channels")
        json.beginArray()
        for element in elements {
            json.beginObject()
            json.key("channel")
            json.string(channel(element))
            body(&json, element)
            json.endObject()
        }
        json.endArray()
    }

    /// The object and a line break.
    consuming func finished() -> [UInt8] {
        json.endObject()
        return json.bytes + [0x0A]
    }

    /// Names of channels as people read them.
    static func names(_ channels: [[UInt8]]) -> String {
        channels.map { Printable.value($0) }.joined(separator: ", ")
    }
}
