import Encoding
import Transport
import Worker

/// What the commands on removed devices have in common: which ones are meant, and how they are shown.
enum QuarantineOptions {
    static let filters = [
        Option("since", "TIME", "removed since then: 90m, 24h, 7d, or a time as 2026-11-30T10:00Z"),
        Option("reason", "WORD", "removed for this reason, as BadDeviceToken"),
    ]

    /// The conditions on the command line; `now` is in unix milliseconds.
    static func filter(
        _ arguments: Arguments,
        now: Int64 = currentUnixMilliseconds()
    ) throws(UsageError) -> QuarantineStore.Filter {
        var filter = QuarantineStore.Filter()
        filter.kind = try DeviceOptions.kind(arguments)
        filter.reason = arguments["reason"]
        if let token = arguments.operands.first { filter.token = try DeviceOptions.token(token, filter.kind) }
        if let text = arguments["since"] { filter.since = try since(text, now: now) }
        return filter
    }

    private static func since(_ text: String, now: Int64) throws(UsageError) -> Int64 {
        let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
        if let last = text.last, let unit = units[last], let number = Int64(text.dropLast()), (0...100_000) ~= number {
            return max(0, now - number * unit)
        }
        if let seconds = Expiration.seconds(text: Array(text.utf8)) { return seconds * 1000 }
        throw UsageError(
            "--since is \"\(Printable.value(text))\", and may be 90m, 24h, 7d, or a time as 2026-11-30T10:00Z"
        )
    }

    /// One line of JSON.
    static func line(_ device: QuarantinedDevice) -> [UInt8] {
        var line = RegistrationLine()
        line.add("token", device.token)
        line.add(device.kind)
        line.add("reason", Array(device.reason.utf8))
        line.add("status", Int64(device.status))
        line.add("time", device.time)
        line.addChannels(device.channels, \.name) { json, channel in
            guard let registered = channel.registered else { return }
            json.key("registered")
            json.integer(registered)
        }
        return line.finished()
    }

    /// One line for people; the whole token, since it is to be copied.
    static func text(_ device: QuarantinedDevice) -> String {
        let time = Timestamp.text(unixMilliseconds: device.time)
        let token = Printable.escaped(String(decoding: device.token, as: UTF8.self))
        let channels = RegistrationLine.names(device.channels.map(\.name))
        return "\(time)  \(Printable.value(device.reason))  \(device.kind.label)  \(token)  from \(channels)\n"
    }
}

extension Invocation {
    /// Connects to Redis, runs the body with the removed devices, and waits for its end.
    func withQuarantine<Value: Sendable>(
        _ body: @escaping @Sendable (QuarantineStore) async throws -> Value
    ) throws -> Value {
        let keys = RedisKeys(prefix: settings.prefix)
        return try withRedis("devices") { try await body(QuarantineStore(client: $0, keys: keys)) }
    }
}
