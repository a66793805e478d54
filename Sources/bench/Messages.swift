/// The messages and registrations of the benchmark.
enum BenchMessage {
    static let topic = "com.example.bench"
    static let environment = "production"
    static let fanOutChannel = "bench.all"

    /// What a device receives: about the size of a chat message.
    static let body = """
        {"aps":{"alert":{"title":"A message in the group","body":"\(String(repeating: "text ", count: 30))"},\
        "sound":"default","thread-id":"bench"},"message":"0123456789abcdef"}
        """

    /// A message with a push for the devices of its channel.
    ///
    /// All `apns-` headers but the collapse id are asked for.
    static let push = """
        {"text":"A message in the group","sender":"bench","pn_apns":\(body.dropLast()),"pn_push":[{"version":"v2",\
        "expiration":"2035-01-01T00:00:00Z","targets":[{"topic":"\(topic)","environment":"\(environment)"}]}]}}
        """

    /// A message whose push has a body of that many bytes.
    static func push(bodyOf count: Int) -> String {
        let empty = "{\"aps\":{\"alert\":\"\"}}"
        let text = String(repeating: "x", count: max(0, count - empty.utf8.count))
        return """
            {"pn_apns":{"aps":{"alert":"\(text)"},"pn_push":[{"version":"v2",\
            "targets":[{"topic":"\(topic)","environment":"\(environment)"}]}]}}
            """
    }

    /// A message of the same application that concerns no phone.
    static let plain = """
        {"id":"0123456789abcdef","type":"message","sender":{"id":"user-17","name":"Someone"},"text":"\
        \(String(repeating: "text ", count: 30))","time":1764500000000}
        """

    static func singleChannel(_ number: Int) -> String {
        "bench.one.\(number)"
    }

    static func registrationKey(channel: String) -> String {
        "push:{\(channel)}:apns:\(environment):\(topic)"
    }

    /// What the tokens of ``chatToken(_:)`` begin with, and no other does but by chance.
    static let chatTokenPrefix = "c4a7c4a7c4a7"

    static func chatToken(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return chatTokenPrefix + String(repeating: "0", count: 64 - chatTokenPrefix.count - digits.count) + digits
    }

    static func chatChannel(_ number: Int) -> String {
        "bench.chat.\(number)"
    }

    /// Tokens of the devices with a channel of their own; no token of the fan-out is among them.
    static func singleToken(_ number: Int) -> String {
        BenchToken.hex(1_000_000_000 + number)
    }
}
