package import Redis
import Transport

/// Removes the registrations of a device that its provider calls dead: on every channel, if older than that finding.
///
/// The channel's set and the device's own key lie in different slots, so no transaction spans them. First the token
/// leaves the channel's set, then the channel the device's key, unless it was registered again meanwhile: then the
/// token is put back. So a registration that comes in between is never lost, and a crash leaves nothing that cannot be
/// removed. Before all that they are put into the ``Quarantine``, from where they can come back. Confined to the
/// worker's loop.
package final class DeadRegistrations {
    package enum Result: Equatable {
        /// The device is no longer registered on the channel.
        case removed
        /// The registration is newer than the provider's finding.
        case kept
        case failed(RedisError)
    }

    /// A registration to remove, if it is still no newer than this.
    private struct Candidate {
        let channel: [UInt8]
        /// The registration's time as read; -1: the device's key does not know the channel.
        let registered: Int64
    }

    /// KEYS: the device's key.
    ///
    /// ARGV: channel and newest time to remove, in turn. Answers the channels that are newer.
    private static let forget = RedisScript(
        """
        local newer = {}
        for i = 1, #ARGV, 2 do
          local time = redis.call('ZSCORE', KEYS[1], ARGV[i])
          if time then
            if tonumber(time) <= tonumber(ARGV[i + 1]) then
              redis.call('ZREM', KEYS[1], ARGV[i])
            else
              newer[#newer + 1] = ARGV[i]
            end
          end
        end
        return newer
        """
    )

    /// How long a removal waits that Redis could not do for the moment.
    static let retryPause: Duration = .seconds(1)

    private let redis: RedisConnection
    private let keys: RedisKeys

    package init(redis: RedisConnection, keys: RedisKeys) {
        self.redis = redis
        self.keys = keys
    }

    /// Removes a device that a push on `channel` was refused for.
    ///
    /// `member` is the set's member as stored. `deadSince`, in unix milliseconds, is when the provider found the device
    /// dead; registrations since then stay. Nil: it does not say, and all go. While Redis is away or busy the removal
    /// waits for it.
    package func remove(
        member: [UInt8],
        kind: RegistrationKind,
        channel: [UInt8],
        deadSince: Int64?,
        cause: Quarantine.Cause,
        done: @escaping (Result) -> Void
    ) {
        attempt(member, kind, channel, deadSince, cause) { [self] result in
            guard case .failed(let error) = result, error.isPassing else { return done(result) }
            redis.loop.schedule(after: Self.retryPause) { [weak self] in
                self?.remove(
                    member: member,
                    kind: kind,
                    channel: channel,
                    deadSince: deadSince,
                    cause: cause,
                    done: done
                )
            }
        }
    }

    private func attempt(
        _ member: [UInt8],
        _ kind: RegistrationKind,
        _ channel: [UInt8],
        _ deadSince: Int64?,
        _ cause: Quarantine.Cause,
        _ done: @escaping (Result) -> Void
    ) {
        let token = kind.tokenToSend(member)
        var read = RedisCommand("ZRANGE")
        read.append(keys.device(token: token, kind: kind))
        for word in ["0", "-1", "WITHSCORES"] { read.append(word) }
        redis.send(read) { [self] answer in
            switch answer {
            case .failure(let error): done(.failed(error))
            case .success(let value):
                let candidates = Self.candidates(value, channel: channel, deadSince: deadSince)
                let isHere = candidates.contains { $0.channel == channel }
                let members = token == member || !isHere ? [token] : [token, member]
                keep(member, kind, candidates, cause) { [self] refusal, ids in
                    if let refusal { return done(.failed(refusal)) }
                    removeMembers(members, kind, candidates) { [self] removal in
                        if removal.leavesAll(candidates.count) { forget(ids) }
                        guard isHere else { return done(.kept) }
                        done(removal.map { $0.contains(channel) ? .kept : .removed })
                    }
                }
            }
        }
    }

    /// Puts the registrations into the quarantine, and answers the ids of the entries there.
    private func keep(
        _ member: [UInt8],
        _ kind: RegistrationKind,
        _ candidates: [Candidate],
        _ cause: Quarantine.Cause,
        then: @escaping (_ refusal: RedisError?, _ ids: [[UInt8]]) -> Void
    ) {
        guard !candidates.isEmpty else { return then(nil, []) }
        var refusal: RedisError?
        var ids: [[UInt8]] = []
        let parts = stride(from: 0, to: candidates.count, by: Quarantine.maximumChannels).map {
            candidates[$0..<min($0 + Quarantine.maximumChannels, candidates.count)]
        }
        var unanswered = parts.count
        for part in parts {
            let arguments = Quarantine.arguments(
                member: member,
                kind: kind,
                cause: cause,
                channels: part.map { ($0.channel, $0.registered) }
            )
            redis.evaluate(Quarantine.put, keys: [keys.quarantine], arguments: arguments) { answer in
                unanswered -= 1
                switch answer {
                case .failure(let error): refusal = refusal ?? error
                case .success(let id): if let id = id.bytes { ids.append(id) }
                }
                if unanswered == 0 { then(refusal, ids) }
            }
        }
    }

    /// Nothing was removed: the quarantine need not show it.
    private func forget(_ ids: [[UInt8]]) {
        for id in ids { redis.send(RedisCommand("XDEL", [keys.quarantine, id])) { _ in } }
    }

    private static func candidates(_ value: RESPValue, channel: [UInt8], deadSince: Int64?) -> [Candidate] {
        let parts = value.elements ?? []
        var isKnown = false
        var candidates: [Candidate] = []
        for index in stride(from: 0, to: parts.count - 1, by: 2) {
            guard let name = parts[index].bytes else { continue }
            let time = parts[index + 1].text.flatMap { Double($0) }.flatMap { Int64(exactly: $0.rounded()) } ?? 0
            if name == channel { isKnown = true }
            if let deadSince, time >= deadSince { continue }
            candidates.append(Candidate(channel: name, registered: time))
        }
        if !isKnown { candidates.append(Candidate(channel: channel, registered: -1)) }
        return candidates
    }

    /// Removes, and answers on which channels the device has been registered again meanwhile.
    private func removeMembers(
        _ members: [[UInt8]],
        _ kind: RegistrationKind,
        _ candidates: [Candidate],
        done: @escaping (Removal) -> Void
    ) {
        guard let token = members.first, !candidates.isEmpty else { return done(.done(newer: [])) }
        var refusal: RedisError?
        for candidate in candidates {
            redis.send(change("SREM", candidate.channel, kind, members)) { result in
                // A key of another type holds no registration.
                if case .failure(let error) = result, error.code != "WRONGTYPE" { refusal = refusal ?? error }
            }
        }
        let arguments = candidates.flatMap { [$0.channel, Array(String($0.registered).utf8)] }
        redis.evaluate(Self.forget, keys: [keys.device(token: token, kind: kind)], arguments: arguments) {
            [self] answer in
            switch answer {
            case .failure(let error): done(.failed(error))
            case .success(let value):
                if let refusal { return done(.failed(refusal)) }
                let newer = (value.elements ?? []).compactMap(\.bytes)
                for channel in newer { redis.send(change("SADD", channel, kind, [token])) { _ in } }
                done(.done(newer: newer))
            }
        }
    }

    private func change(
        _ name: StaticString,
        _ channel: [UInt8],
        _ kind: RegistrationKind,
        _ members: [[UInt8]]
    ) -> RedisCommand {
        var command = RedisCommand(name)
        command.append(keys.registrations(channel: channel, kind: kind))
        for member in members { command.append(member) }
        return command
    }

    private enum Removal {
        case done(newer: [[UInt8]])
        case failed(RedisError)

        /// Whether all of so many registrations have been renewed meanwhile.
        func leavesAll(_ count: Int) -> Bool {
            if case .done(let newer) = self { newer.count == count } else { false }
        }

        func map(_ transform: ([[UInt8]]) -> Result) -> Result {
            switch self {
            case .done(let newer): transform(newer)
            case .failed(let error): .failed(error)
            }
        }
    }
}
