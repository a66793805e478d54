package import Redis

/// The dead letters, for commands: lists them, puts them back into the inbox, drops them.
///
/// Any task. Each letter is moved or dropped in one step of Redis; all of them are those that were there at first, so
/// that what dies again meanwhile is left alone.
package struct DeadLetterStore: Sendable {
    /// What became of one letter.
    package enum Fate: Equatable, Sendable {
        /// Back in the inbox, under this entry id.
        case replayed(as: String)
        case dropped
        /// It has no channel or no message, so nothing could serve it.
        case unusable
        /// There is no such letter, or not any more.
        case missing
    }

    /// Letters in one step: each may hold a message of 1 MiB.
    private static let pageSize = 20

    /// Moves letters into the inbox.
    ///
    /// KEYS: dead letters, inbox. ARGV: first and last id, count. Answers id and entry id in turn, with an
    /// empty one for a letter that is no message. `received` is now, so that the message's `pn_ttl` begins anew; its id
    /// stays, so that repeated pushes have the same `apns-id`.
    static let replay = RedisScript(
        """
        local time = redis.call('TIME')
        local received = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
        local done = {}
        for _, letter in ipairs(redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])) do
          local fields = {}
          for i = 1, #letter[2] - 1, 2 do fields[letter[2][i]] = letter[2][i + 1] end
          local added = ''
          if fields.channel and fields.message then
            if not fields.id and fields.stream == 'messages' then fields.id = fields.entry end
            local entry = {'received', received}
            for _, name in ipairs({'channel', 'message', 'id', 'target', 'tokens'}) do
              if fields[name] then
                entry[#entry + 1] = name
                entry[#entry + 1] = fields[name]
              end
            end
            added = redis.call('XADD', KEYS[2], '*', unpack(entry))
            redis.call('XDEL', KEYS[1], letter[1])
          end
          done[#done + 1] = letter[1]
          done[#done + 1] = added
        end
        return done
        """
    )

    /// Deletes letters.
    ///
    /// KEYS: dead letters. ARGV: first and last id, count. Answers the ids of those that were dropped.
    static let drop = RedisScript(
        """
        local done = {}
        for _, letter in ipairs(redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[2], 'COUNT', ARGV[3])) do
          redis.call('XDEL', KEYS[1], letter[1])
          done[#done + 1] = letter[1]
        end
        return done
        """
    )

    private let client: RedisClient
    private let keys: RedisKeys

    package init(client: RedisClient, keys: RedisKeys) {
        self.client = client
        self.keys = keys
    }

    /// Whether a text is the id of a letter: `<unix ms>-<n>`.
    package static func isID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { UInt64($0) != nil && $0.utf8.allSatisfy { $0 != 0x2B } }
    }

    /// Gives all letters, oldest first, a page at a time.
    package func forEachPage(_ body: ([DeadLetter]) -> Void) async throws(RedisError) {
        guard let last = try await lastID() else { return }
        var first = "-"
        while true {
            let reply = try await client.call("XRANGE", keys.dead, first, last, "COUNT", Self.pageSize)
            guard let elements = reply.elements, let lastOfPage = elements.last?[0]?.text else { return }
            body(elements.compactMap { DeadLetter($0) })
            first = "(\(lastOfPage)"
        }
    }

    /// Puts a letter back into the inbox.
    package func replay(_ id: String) async throws(RedisError) -> Fate {
        try await replay(from: id, to: id).first?.fate ?? .missing
    }

    /// Deletes a letter.
    package func drop(_ id: String) async throws(RedisError) -> Fate {
        try await drop(from: id, to: id).isEmpty ? .missing : .dropped
    }

    /// Puts all letters back that are there now, and tells of each page.
    package func replayAll(_ told: ([(id: String, fate: Fate)]) -> Void) async throws(RedisError) {
        guard let last = try await lastID() else { return }
        var page = try await replay(from: "-", to: last)
        while let end = page.last {
            told(page)
            page = try await replay(from: "(\(end.id)", to: last)
        }
    }

    /// Deletes all letters that are there now, and tells of each page.
    package func dropAll(_ told: ([(id: String, fate: Fate)]) -> Void) async throws(RedisError) {
        guard let last = try await lastID() else { return }
        var page = try await drop(from: "-", to: last)
        while let end = page.last {
            told(page.map { ($0, .dropped) })
            page = try await drop(from: "(\(end)", to: last)
        }
    }

    private func lastID() async throws(RedisError) -> String? {
        try await client.call("XREVRANGE", keys.dead, "+", "-", "COUNT", 1)[0]?[0]?.text
    }

    private func replay(from first: String, to last: String) async throws(RedisError) -> [(id: String, fate: Fate)] {
        let done = try await run(Self.replay, keys: [keys.dead, keys.messages], first, last)
        return stride(from: 0, to: done.count - 1, by: 2).map { index in
            (done[index], done[index + 1].isEmpty ? .unusable : .replayed(as: done[index + 1]))
        }
    }

    private func drop(from first: String, to last: String) async throws(RedisError) -> [String] {
        try await run(Self.drop, keys: [keys.dead], first, last)
    }

    private func run(
        _ script: RedisScript,
        keys: [[UInt8]],
        _ first: String,
        _ last: String
    ) async throws(RedisError) -> [String] {
        let arguments = [first, last, "\(Self.pageSize)"].map { Array($0.utf8) }
        return try await client.evaluate(script, keys: keys, arguments: arguments).elements?.compactMap(\.text) ?? []
    }
}
