package import Redis

/// How full the queue is, how old its oldest entry, and who is serving what: for people and monitoring.
///
/// A value, read in one transaction.
package struct QueueOverview: Equatable, Sendable {
    /// A worker that Redis knows in the queue, alive or not.
    package struct Owner: Equatable, Sendable {
        package let name: String
        /// Messages that it has taken and not finished.
        package fileprivate(set) var messages: Int64 = 0
        /// Parts of messages likewise.
        package fileprivate(set) var batches: Int64 = 0
        /// Milliseconds since it last asked Redis for entries, or showed that it is alive.
        package fileprivate(set) var idle = Int64.max
    }

    /// Unfinished messages.
    package let messages: Int64
    /// Unfinished parts of messages.
    package let batches: Int64
    /// Retries that wait for their time.
    package let delayed: Int64
    /// Dead letters.
    package let dead: Int64
    /// Milliseconds since the oldest unfinished message was added; nil: there is none.
    package let oldest: Int64?
    /// By name.
    package let owners: [Owner]

    /// Asks Redis, which need not have any of the keys.
    package static func read(_ client: RedisClient, keys: RedisKeys) async throws(RedisError) -> QueueOverview {
        let reply = try await client.transaction([
            RedisCommand("XLEN", [keys.messages]),
            RedisCommand("XLEN", [keys.batches]),
            RedisCommand("ZCARD", [keys.delayed]),
            RedisCommand("XLEN", [keys.dead]),
            RedisCommand("TIME"),
            RedisCommand("XRANGE", [keys.messages, "-", "+", "COUNT", 1]),
            RedisCommand("XINFO", ["CONSUMERS", keys.messages, EntryStream.group]),
            RedisCommand("XINFO", ["CONSUMERS", keys.batches, EntryStream.group]),
        ])
        return try QueueOverview(reply)
    }

    /// From the replies to the commands above.
    init(_ reply: RESPValue) throws(RedisError) {
        func count(_ index: Int) throws(RedisError) -> Int64 {
            if let error = reply[index]?.error { throw error }
            guard let count = reply[index]?.integer else { throw .invalidReply("the length of a part of the queue") }
            return count
        }
        messages = try count(0)
        batches = try count(1)
        delayed = try count(2)
        dead = try count(3)
        oldest = Self.age(of: reply[5]?[0]?[0], time: reply[4])
        var owners: [String: Owner] = [:]
        try Self.add(reply[6], to: &owners, \.messages)
        try Self.add(reply[7], to: &owners, \.batches)
        self.owners = owners.values.sorted { $0.name < $1.name }
    }

    /// Milliseconds from an entry's id `<unix ms>-<n>` to the reply to TIME.
    private static func age(of entryID: RESPValue?, time: RESPValue?) -> Int64? {
        guard let id = entryID?.text, let added = id.split(separator: "-").first.flatMap({ Int64($0) }),
            let seconds = time?[0]?.integer, let microseconds = time?[1]?.integer
        else { return nil }
        return max(0, seconds &* 1000 &+ microseconds / 1000 &- added)
    }

    /// Adds the reply to XINFO CONSUMERS; without the stream or its group there are none.
    private static func add(
        _ reply: RESPValue?,
        to owners: inout [String: Owner],
        _ count: WritableKeyPath<Owner, Int64>
    ) throws(RedisError) {
        if let error = reply?.error {
            if ["ERR", "NOGROUP"].contains(error.code) { return }
            throw error
        }
        for consumer in reply?.elements ?? [] {
            guard let name = consumer.field("name")?.text else { continue }
            var owner = owners[name] ?? Owner(name: name)
            owner[keyPath: count] = consumer.field("pending")?.integer ?? 0
            owner.idle = min(owner.idle, consumer.field("idle")?.integer ?? .max)
            owners[name] = owner
        }
    }
}

extension RESPValue {
    /// The value that follows a name in an array of names and values.
    fileprivate func field(_ name: String) -> RESPValue? {
        guard let elements else { return nil }
        for index in stride(from: 0, to: elements.count - 1, by: 2) where elements[index].text == name {
            return elements[index + 1]
        }
        return nil
    }
}
