package import Transport

/// The queue entries that this worker has taken and Redis does not yet know to be finished, and when each was last seen
/// to be alive by the other workers.
///
/// An entry is in here once, whatever ways it comes. A value type without I/O.
package struct TakenEntries {
    /// How old the sign of life of an entry gets before another is due.
    package static let refreshInterval: Duration = .seconds(1)
    /// Entries in one command.
    package static let batchSize = 500

    private var aliveAt: [[UInt8]: LoopInstant] = [:]

    package init() {}

    package var count: Int { aliveAt.count }

    /// Notes an entry that Redis has just given; false when it was taken before.
    package mutating func take(_ entryID: [UInt8], now: LoopInstant) -> Bool {
        aliveAt.updateValue(now, forKey: entryID) == nil
    }

    /// Redis knows that these are finished.
    package mutating func release(_ entryIDs: [[UInt8]]) {
        for entryID in entryIDs { aliveAt.removeValue(forKey: entryID) }
    }

    /// The entries that need a sign of life now, in batches; they count as having it.
    package mutating func due(now: LoopInstant) -> [[[UInt8]]] {
        give(aliveAt.filter { now - $0.value >= Self.refreshInterval }.map(\.key), now: now)
    }

    /// All entries, in batches; they count as having a sign of life.
    package mutating func all(now: LoopInstant) -> [[[UInt8]]] {
        give(Array(aliveAt.keys), now: now)
    }

    private mutating func give(_ entryIDs: [[UInt8]], now: LoopInstant) -> [[[UInt8]]] {
        for entryID in entryIDs { aliveAt[entryID] = now }
        return stride(from: 0, to: entryIDs.count, by: Self.batchSize).map { start in
            Array(entryIDs[start..<min(start + Self.batchSize, entryIDs.count)])
        }
    }
}

/// When a worker looks for entries of dead workers.
///
/// Entries count as left behind when nobody has shown them to be alive for a while. But signs of life may only be late:
/// after Redis was away or stood still, all workers first get the time to give theirs. A value type without I/O.
package struct TakeoverPace {
    /// Between two looks.
    package static let interval: Duration = .seconds(2)
    /// Entries without a sign of life for so long are taken over.
    package static let idleLimit: Duration = .seconds(5)
    /// Workers that come back to Redis are given so long: a little more than the longest wait between two attempts.
    package static let returnTime: Duration = .seconds(8)
    /// An answer that took longer means that Redis stood still.
    package static let promptAnswer: Duration = .seconds(1)
    /// Consumers without entries that have not asked for so long are those of workers that are gone.
    package static let consumerLifetime: Duration = .seconds(30)

    private var wasConnected = false
    private var quietUntil = LoopInstant(nanoseconds: 0)

    package init() {}

    /// The worker has a connection, for the first time or again.
    package mutating func connected(now: LoopInstant) {
        if wasConnected { redisWasAway(now: now) }
        wasConnected = true
    }

    /// Redis was away or stood still a short time ago: other workers could not show that they live.
    package mutating func redisWasAway(now: LoopInstant) { quietUntil = now + Self.returnTime }

    /// Whether to ask now.
    package func mayAsk(now: LoopInstant) -> Bool { now >= quietUntil }

    /// Redis has answered a first question; whether entries may be taken over now.
    package mutating func answered(asked: LoopInstant, now: LoopInstant) -> Bool {
        if now - asked <= Self.promptAnswer { return mayAsk(now: now) }
        redisWasAway(now: now)
        return false
    }
}
