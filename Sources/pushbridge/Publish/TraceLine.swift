import Encoding
import Worker

/// One trace as it came over the debug channel.
struct TraceLine: Sendable {
    let stage: String
    let id: String
    let channel: String
    /// The whole object, on one line.
    let json: [UInt8]
    private let text: String
    private let time: Int64?
    /// Of a `received` trace: the bytes of the message.
    let messageBytes: Int64?
    /// Whether it is about one device.
    let hasDevice: Bool
    /// Of a `completed` trace: the pushes that were not sent though they should have been.
    let failedCount: Int64

    /// Reads a trace; nil for anything else that was published there.
    init?(_ payload: [UInt8]) {
        guard let root = try? JSONDocument(payload).root, root.isObject, let stage = root["stage"]?.string else {
            return nil
        }
        self.stage = stage
        id = root["id"]?.string ?? "-"
        channel = root["channel"]?.string ?? ""
        text = root["text"]?.string ?? ""
        time = root["time"]?.integer
        messageBytes = root["bytes"]?.integer
        hasDevice = root["device"] != nil
        failedCount = (root["errored"]?.integer ?? 0) &+ (root["expired"]?.integer ?? 0)
        // Outside of texts a line break is a blank, and inside it cannot stand.
        json = root.text.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }

    /// One line for people: time, stage, message, channel, text.
    var line: String {
        let moment = time.map { Timestamp.text(unixMilliseconds: $0) } ?? "-"
        let shown = Printable.value(stage)
        let padding = String(repeating: " ", count: max(1, 10 - shown.count))
        return
            "\(moment) \(shown)\(padding)\(Printable.value(id)) \(Printable.value(channel)): \(Printable.escaped(text))\n"
    }

    /// The line or the JSON, with a line break.
    func output(json isJSON: Bool) -> [UInt8] {
        isJSON ? json + [0x0A] : Array(line.utf8)
    }
}
