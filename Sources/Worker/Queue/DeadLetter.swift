import Redis

/// A queue entry that was given up, since it ended its worker again and again: an entry of `P{queue}:dead`.
package struct DeadLetter: Equatable, Sendable {
    /// Its id in the stream of dead letters.
    package let id: String
    /// The stream that it stood in, `messages` or `batches`, and its id there.
    package let stream: String?
    package let entry: String?
    /// How often it was given to a worker.
    package let deliveries: Int64?
    package let reason: String?
    /// When it was given up, in unix milliseconds.
    package let time: Int64
    package let channel: [UInt8]?
    package let message: [UInt8]?
    /// The message's id in traces.
    package let messageID: String?
    /// Of a part of a message: the target's number in its plan.
    package let target: Int64?

    /// Reads `[id, [field, value, …]]`; nil when it is not of this form.
    init?(_ value: RESPValue) {
        guard let id = value[0]?.text, let fields = value[1]?.elements else { return nil }
        var values: [String: RESPValue] = [:]
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            fields[index].text.map { values[$0] = fields[index + 1] }
        }
        self.id = id
        stream = values["stream"]?.text
        entry = values["entry"]?.text
        deliveries = values["deliveries"]?.integer
        reason = values["reason"]?.text
        time = values["time"]?.integer ?? id.split(separator: "-").first.flatMap { Int64($0) } ?? 0
        channel = values["channel"]?.bytes
        message = values["message"]?.bytes
        messageID = values["id"]?.text
        target = values["target"]?.integer
    }
}
