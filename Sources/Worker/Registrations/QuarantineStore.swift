package import Redis

/// The removed registrations, for commands: lists them and brings them back.
///
/// Any task. Each call is idempotent.
package struct QuarantineStore: Sendable {
    /// Which ones: all conditions must hold.
    package struct Filter: Sendable {
        /// In any spelling.
        package var token: [UInt8]?
        package var kind: RegistrationKind?
        /// Unix milliseconds: removed then or later.
        package var since: Int64?
        /// The provider's word.
        package var reason: String?

        package init() {}

        func includes(_ device: QuarantinedDevice, oldest: Int64) -> Bool {
            if device.time < max(oldest, since ?? 0) { return false }
            if let kind, kind != device.kind { return false }
            if let reason, reason.lowercased() != device.reason.lowercased() { return false }
            guard let token else { return true }
            return device.kind.tokenToSend(token) == device.kind.tokenToSend(device.token)
        }
    }

    private static let pageSize = 500

    private let client: RedisClient
    private let keys: RedisKeys

    package init(client: RedisClient, keys: RedisKeys) {
        self.client = client
        self.keys = keys
    }

    /// Gives the devices that were removed before the call, oldest first, a page at a time.
    package func forEachPage(
        _ filter: Filter,
        _ body: ([QuarantinedDevice]) async throws -> Void
    ) async throws {
        let oldest = try await unixMilliseconds() - Quarantine.lifetime.wholeMilliseconds
        guard let last = try await client.call("XREVRANGE", keys.quarantine, "+", "-", "COUNT", 1)[0]?[0]?.text else {
            return
        }
        var first = "\(max(0, oldest, filter.since ?? 0))"
        while true {
            let reply = try await client.call("XRANGE", keys.quarantine, first, last, "COUNT", Self.pageSize)
            guard let elements = reply.elements, let lastOfPage = elements.last?[0]?.text else { return }
            let page = elements.compactMap { QuarantinedDevice($0) }.filter { filter.includes($0, oldest: oldest) }
            if !page.isEmpty { try await body(page) }
            first = "(\(lastOfPage)"
        }
    }

    /// Registers devices again as they were, and takes them out of the quarantine.
    ///
    /// A registration that is newer stays as it is.
    package func restore(_ devices: [QuarantinedDevice]) async throws(RedisError) {
        var commands: [RedisCommand] = []
        for device in devices {
            let own = keys.device(token: device.kind.tokenToSend(device.token), kind: device.kind)
            for channel in device.channels {
                if let time = channel.registered {
                    commands.append(RedisCommand("ZADD", [own, "GT", time, channel.name]))
                }
                let set = keys.registrations(channel: channel.name, kind: device.kind)
                commands.append(RedisCommand("SADD", [set, device.token]))
            }
        }
        _ = try await client.pipeline(commands)
        for device in devices { try await client.call("XDEL", keys.quarantine, device.id) }
    }

    private func unixMilliseconds() async throws(RedisError) -> Int64 {
        let time = try await client.call("TIME")
        let seconds = time[0]?.text.flatMap { Int64($0) } ?? 0
        return seconds &* 1000
    }
}
