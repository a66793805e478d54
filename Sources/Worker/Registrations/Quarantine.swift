import Redis

/// Where removed registrations are kept for 30 days, so that a removal by mistake can be undone.
///
/// One stream: an entry for each removed device and registry, with the reason and, for each channel, when it was
/// registered there. Bounded in number and in time, and gone when nothing was removed for so long.
package enum Quarantine {
    package static let lifetime: Duration = .seconds(30 * 86_400)
    /// About 150 bytes each.
    package static let maximumEntries = 200_000
    /// Channels in one entry; a device with more has several.
    static let maximumChannels = 500

    /// Why a registration is removed.
    package struct Cause: Sendable {
        /// The provider's word.
        package let reason: String
        package let status: Int

        package init(reason: String, status: Int) {
            self.reason = reason
            self.status = status
        }
    }

    /// Adds an entry.
    ///
    /// KEYS: the stream. ARGV: entries at most, milliseconds that they are kept, then the entry's fields. Answers its
    /// id. It begins with a write that needs no memory, after which a full Redis takes the rest too.
    static let put = RedisScript(
        """
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        local time = redis.call('TIME')
        local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - ARGV[2]
        local id = redis.call('XADD', KEYS[1], 'MINID', '~', string.format('%.0f', math.max(0, oldest)), '*',
          unpack(ARGV, 3))
        redis.call('XTRIM', KEYS[1], 'MAXLEN', '~', ARGV[1])
        redis.call('PEXPIRE', KEYS[1], ARGV[2])
        return id
        """
    )

    /// The script's arguments; -1 stands for a channel whose time of registration is not known.
    static func arguments(
        member: [UInt8],
        kind: RegistrationKind,
        cause: Cause,
        channels: [(name: [UInt8], registered: Int64)]
    ) -> [[UInt8]] {
        var words = ["\(maximumEntries)", "\(lifetime.wholeMilliseconds)"].map { Array($0.utf8) }
        words += [Array("kind".utf8), kind.keySuffix, Array("token".utf8), member]
        words += ["reason", cause.reason, "status", "\(cause.status)"].map { Array($0.utf8) }
        for channel in channels {
            words += [Array("channel".utf8), channel.name, Array("registered".utf8)]
            words.append(Array("\(channel.registered)".utf8))
        }
        return words
    }
}

/// A device that was removed from channels of one registry.
package struct QuarantinedDevice: Equatable, Sendable {
    package struct Channel: Equatable, Sendable {
        package let name: [UInt8]
        /// Unix milliseconds of the registration; nil when it was not known.
        package let registered: Int64?
    }

    /// The entry's id in Redis.
    package let id: String
    package let kind: RegistrationKind
    /// As it stood in the set.
    package let token: [UInt8]
    /// The provider's word.
    package let reason: String
    package let status: Int
    package let channels: [Channel]

    /// Unix milliseconds of the removal.
    package var time: Int64 { Int64(id.prefix { $0 != "-" }) ?? 0 }

    /// From an entry as Redis gives it: its id, its fields and values in turn; nil when it is none.
    init?(_ value: RESPValue) {
        guard let id = value[0]?.text, let words = value[1]?.elements?.compactMap(\.bytes) else { return nil }
        var fields: [String: [UInt8]] = [:]
        var channels: [Channel] = []
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            let name = String(decoding: words[index], as: UTF8.self)
            switch name {
            case "channel": channels.append(Channel(name: words[index + 1], registered: nil))
            case "registered":
                guard let last = channels.popLast() else { return nil }
                let time = Int64(String(decoding: words[index + 1], as: UTF8.self)) ?? -1
                channels.append(Channel(name: last.name, registered: time < 0 ? nil : time))
            default: fields[name] = words[index + 1]
            }
        }
        guard let kind = fields["kind"].flatMap({ RegistrationKind(keySuffix: $0) }), let token = fields["token"] else {
            return nil
        }
        self.id = id
        self.kind = kind
        self.token = token
        self.channels = channels
        reason = String(decoding: fields["reason"] ?? [], as: UTF8.self)
        status = fields["status"].flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    }
}
