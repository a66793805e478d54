import Encoding

/// One trace in the making: a JSON object whose fields are written as they are added.
package struct TraceFields {
    private var json = JSONWriter()

    package init(stage: TraceStage, id: String, channel: [UInt8]) {
        json.beginObject()
        add("stage", stage.rawValue)
        add("id", id)
        add("channel", String(decoding: channel, as: UTF8.self))
    }

    package mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        json.key(name)
        json.string(value)
    }

    package mutating func add(_ name: StaticString, _ value: Int?) {
        guard let value else { return }
        json.key(name)
        json.integer(value)
    }

    package mutating func add(_ name: StaticString, _ values: [String]) {
        json.key(name)
        json.beginArray()
        for value in values { json.string(value) }
        json.endArray()
    }

    /// The fields that every trace of a target has.
    package mutating func add(_ target: Target) {
        add("gateway", target.gateway.rawValue)
        add("environment", target.environment?.rawValue)
        add("topic", target.topic)
    }

    /// The whole object, with its time in unix milliseconds and the line for people.
    package consuming func finished(time: Int64, text: String) -> [UInt8] {
        json.key("time")
        json.integer(Int(time))
        add("text", Printable.escaped(text))
        json.endObject()
        return json.bytes
    }
}
