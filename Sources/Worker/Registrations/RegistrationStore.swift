package import Redis

/// The registrations of devices, for commands and the HTTP interface: adds, removes, lists, moves.
///
/// A channel's set and a device's own key lie in different slots, so no transaction spans them. To add, the device's
/// key is written first; to remove, the channel's set. So what ends half-way can be done again, and a token that was
/// registered here never stands in a set without the way to find it. Any task. Each call is idempotent. Redis' clock
/// dates registrations.
package struct RegistrationStore: Sendable {
    /// What a call did on one channel.
    package struct Change: Equatable, Sendable {
        package let channel: [UInt8]
        /// False: it was so before.
        package let isChanged: Bool
    }

    /// One of a device's channels.
    package struct Listed: Equatable, Sendable {
        package let channel: [UInt8]
        /// Unix milliseconds of the last registration.
        package let registered: Int64
    }

    /// Members that one step of a walk asks for.
    private static let pageSize = 1000

    private let client: RedisClient
    private let keys: RedisKeys

    package init(client: RedisClient, keys: RedisKeys) {
        self.client = client
        self.keys = keys
    }

    /// Registers a device on channels, or renews its registrations there.
    ///
    /// The token must have come from ``RegistrationKind/token(_:)``.
    package func add(_ token: [UInt8], _ kind: RegistrationKind, to channels: [[UInt8]]) async throws -> [Change] {
        let now = try await unixMilliseconds()
        let device = keys.device(token: token, kind: kind)
        let commands = channels.flatMap { channel in
            [
                // GT: never an older time than one that is there, whose clock may have been ahead.
                RedisCommand("ZADD", [device, "GT", now, channel]),
                RedisCommand("SADD", [keys.registrations(channel: channel, kind: kind), token]),
            ]
        }
        let replies = try await client.pipeline(commands)
        return zip(channels, 0...).map { channel, index in
            Change(channel: channel, isChanged: replies[index * 2 + 1].integer == 1)
        }
    }

    /// Removes a device from channels, in any spelling of an APNs token that may stand there.
    package func remove(
        _ token: [UInt8],
        _ kind: RegistrationKind,
        from channels: [[UInt8]]
    ) async throws -> [Change] {
        let spellings = kind.spellings(of: token)
        let device = keys.device(token: kind.tokenToSend(token), kind: kind)
        let commands = channels.flatMap { channel in
            [
                RedisCommand("SREM", [keys.registrations(channel: channel, kind: kind)] + spellings),
                RedisCommand("ZREM", [device, channel]),
            ]
        }
        let replies = try await client.pipeline(commands)
        return zip(channels, 0...).map { channel, index in
            let counts = replies[(index * 2)..<(index * 2 + 2)].compactMap(\.integer)
            return Change(channel: channel, isChanged: counts.contains { $0 > 0 })
        }
    }

    /// A device's channels of one kind, by name.
    package func channels(of token: [UInt8], _ kind: RegistrationKind) async throws -> [Listed] {
        let device = keys.device(token: kind.tokenToSend(token), kind: kind)
        let reply = try await client.call("ZRANGE", device, 0, -1, "WITHSCORES").elements ?? []
        let listed = stride(from: 0, to: reply.count - 1, by: 2).compactMap { index -> Listed? in
            guard let channel = reply[index].bytes else { return nil }
            let score = reply[index + 1].text.flatMap { Double($0) } ?? 0
            return Listed(channel: channel, registered: Int64(exactly: score.rounded()) ?? 0)
        }
        return listed.sorted { $0.channel.lexicographicallyPrecedes($1.channel) }
    }

    /// Moves a device's registrations of one kind to another token, and answers on which channels.
    ///
    /// Channel by channel the new one is registered before the old one is removed.
    package func replace(_ old: [UInt8], by new: [UInt8], _ kind: RegistrationKind) async throws -> [[UInt8]] {
        let channels = try await channels(of: old, kind).map(\.channel)
        guard !channels.isEmpty, kind.tokenToSend(old) != new else { return channels }
        _ = try await add(new, kind, to: channels)
        _ = try await remove(old, kind, from: channels)
        return channels
    }

    /// Walks the tokens of one set, page by page, each token once; ends early when the body returns false.
    package func forEachPage(
        on channel: [UInt8],
        _ kind: RegistrationKind,
        _ body: ([[UInt8]]) throws -> Bool
    ) async throws {
        let set = keys.registrations(channel: channel, kind: kind)
        var seen = SeenTokens()
        var cursor = "0"
        repeat {
            let reply = try await client.call("SSCAN", set, cursor, "COUNT", Self.pageSize)
            guard let next = reply[0]?.text, let members = reply[1]?.elements else {
                throw RedisError.invalidReply("SSCAN was answered with something else")
            }
            cursor = next
            let page = members.compactMap(\.bytes).filter { seen.insert(hash: TokenHash.of($0)) }
            if !page.isEmpty, try !body(page) { return }
        } while cursor != "0"
    }

    /// How many tokens stand in one set.
    package func count(on channel: [UInt8], _ kind: RegistrationKind) async throws -> Int64 {
        try await client.call("SCARD", keys.registrations(channel: channel, kind: kind)).integer ?? 0
    }

    private func unixMilliseconds() async throws -> Int64 {
        let time = try await client.call("TIME")
        guard let seconds = time[0]?.integer, let microseconds = time[1]?.integer else {
            throw RedisError.invalidReply("TIME was answered with something else")
        }
        return seconds &* 1000 &+ microseconds / 1000
    }
}

// MARK: Finding kinds

extension RegistrationStore {
    /// The kinds that a device is registered for.
    ///
    /// A token that cannot be an APNs token is looked up at once; else all keys are walked, since topics are unknown.
    package func kinds(of token: [UInt8]) async throws -> [RegistrationKind] {
        guard RegistrationKind.apnsLegacy.isUsableMember(token) else {
            let count = try await client.call("EXISTS", keys.device(token: token, kind: .fcm))
            return count.integer == 1 ? [.fcm] : []
        }
        var kinds: Set<RegistrationKind> = []
        // An FCM token may look like hexadecimal digits in upper case.
        for spelling in RegistrationKind.apnsLegacy.spellings(of: token) {
            let isLower = spelling == RegistrationKind.apnsLegacy.tokenToSend(token)
            let found = try await scan(prefix: keys.devicePrefix(token: spelling))
            kinds.formUnion(found.filter { isLower || $0 == .fcm })
        }
        return kinds.sorted()
    }

    /// The kinds that have a set on a channel; walks all keys, since topics are unknown.
    package func kinds(on channel: [UInt8]) async throws -> [RegistrationKind] {
        let fcm = keys.registrations(channel: channel, kind: .fcm)
        return try await scan(prefix: fcm.dropLast(RegistrationKind.fcm.keySuffix.count - 1)).sorted()
    }

    /// The kinds of all keys with a prefix, which ends in a colon.
    private func scan(prefix: [UInt8]) async throws -> Set<RegistrationKind> {
        var kinds: Set<RegistrationKind> = []
        var cursor = "0"
        repeat {
            let pattern = Self.literal(prefix) + [UInt8(ascii: "*")]
            let reply = try await client.call("SCAN", cursor, "MATCH", pattern, "COUNT", 10_000)
            guard let next = reply[0]?.text, let found = reply[1]?.elements else {
                throw RedisError.invalidReply("SCAN was answered with something else")
            }
            cursor = next
            for key in found.compactMap(\.bytes) where key.starts(with: prefix) {
                RegistrationKind(keySuffix: Array(key[(prefix.count - 1)...])).map { _ = kinds.insert($0) }
            }
        } while cursor != "0"
        return kinds
    }

    /// A text as a pattern that matches only itself (Redis: KEYS).
    private static func literal(_ bytes: [UInt8]) -> [UInt8] {
        let special = Array("*?[]\\^-".utf8)
        return bytes.flatMap { special.contains($0) ? [UInt8(ascii: "\\"), $0] : [$0] }
    }
}

extension RegistrationKind {
    /// The ways in which a token may stand in a set: as given, and for APNs in lower case.
    func spellings(of token: [UInt8]) -> [[UInt8]] {
        let sent = tokenToSend(token)
        return sent == token ? [token] : [sent, token]
    }
}
