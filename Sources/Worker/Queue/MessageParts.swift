package import Redis
import Transport

/// A target of a message all of whose parts are finished.
package struct EndedTarget: Equatable {
    package let number: Int
    package let tally: Tally
}

/// What a finished entry adds to one of its message's targets.
package struct TargetShare: Equatable {
    package let number: Int
    package let tally: Tally
    /// Of a part that was a retry: its devices.
    package let retriedDevices: Int
    /// Of a message: whether its walk over the target's set made parts, up to the end.
    package let isWalked: Bool

    package init(number: Int, tally: Tally, retriedDevices: Int = 0, isWalked: Bool = false) {
        self.number = number
        self.tally = tally
        self.retriedDevices = retriedDevices
        self.isWalked = isWalked
    }
}

/// What Redis knows of messages with parts: walks, outcomes, retries that wait.
///
/// The shell around ``PartScripts``. Confined to the worker's loop.
package final class MessageParts {
    /// How long Redis keeps what it knows of a message that nobody serves.
    static let stateLifetime: Duration = .seconds(30 * 86_400)

    package enum Answer<Value> {
        case done(Value)
        /// The entry is not this worker's any more.
        case lost
        /// What Redis knows of the walk is not what this worker believes: Redis has lost something, or refused it.
        case moved
        /// Redis did it or not.
        case unknown(RedisError)
    }

    /// A page of a walk on its way to become a part.
    package struct Page {
        package let messageID: [UInt8]
        package let target: Int
        /// Where the walk was before this page, and where it is with it.
        package let previous: RunState.Walk
        package let walk: RunState.Walk
        package let tally: Tally
        package let unusable: Int
        package let hashes: [UInt8]
        package let tokens: BatchTokens?
    }

    private let redis: RedisConnection
    private let keys: RedisKeys
    private let consumer: [UInt8]
    private let recent: RecentWrites?
    private static let group = Array(EntryStream.group.utf8)

    /// `recent` is told of what Redis has confirmed, and may have lost later.
    package init(redis: RedisConnection, keys: RedisKeys, consumer: String, recent: RecentWrites? = nil) {
        self.recent = recent
        self.redis = redis
        self.keys = keys
        self.consumer = Array(consumer.utf8)
    }

    private func key(of kind: EntryStream.Kind) -> [UInt8] {
        kind == .messages ? keys.messages : keys.batches
    }

    // MARK: Walks

    /// Adds a page; the answer is what of the target is unfinished.
    package func add(_ page: Page, _ done: @escaping (Answer<UnfinishedParts>) -> Void) {
        let keys = [
            keys.run(of: page.messageID), keys.walk(of: page.messageID, target: page.target), keys.batches,
            keys.messages,
        ]
        let counts = [page.tally.expected, page.tally.excluded, page.unusable].map { Array("\($0)".utf8) }
        let words = ["\(page.target)", page.previous.text, page.walk.text].map { Array($0.utf8) }
        let head = [Self.group, consumer, page.messageID] + words
        let arguments = head + counts + [page.hashes, page.tokens?.bytes ?? [], Self.lifetime]
        redis.evaluate(PartScripts.addBatch, keys: keys, arguments: arguments) { result in
            done(Self.answer(result) { UnfinishedParts($0) })
        }
    }

    /// What of a target is unfinished.
    package func unfinished(of messageID: [UInt8], target: Int, _ done: @escaping (UnfinishedParts?) -> Void) {
        let fields = UnfinishedParts.fields.map { Array("t\(target):\($0)".utf8) }
        redis.send(RedisCommand("HMGET", [keys.run(of: messageID)] + fields)) { result in
            guard case .success(let value) = result else { return done(nil) }
            done(UnfinishedParts(value))
        }
    }

    /// The hashes of what a walk has met, 8 bytes each.
    package func met(of messageID: [UInt8], target: Int, _ done: @escaping (Result<[UInt8], RedisError>) -> Void) {
        redis.send(RedisCommand("GET", [keys.walk(of: messageID, target: target)])) { result in
            done(result.map { $0.bytes ?? [] })
        }
    }

    // MARK: Entries

    /// What Redis knows of an entry that another worker has begun with.
    package func load(
        _ entryID: [UInt8],
        of kind: EntryStream.Kind,
        messageID: [UInt8],
        _ done: @escaping (Result<(StoredOutcomes, RunState), RedisError>) -> Void
    ) {
        var outcomes: Result<RESPValue, RedisError> = .success(.null)
        redis.send(RedisCommand("GET", [keys.outcomes(of: entryID, in: kind)])) { outcomes = $0 }
        redis.send(RedisCommand("HGETALL", [keys.run(of: messageID)])) { result in
            done(
                outcomes.flatMap { records in
                    result.map { (StoredOutcomes(records: records.bytes ?? []), RunState($0)) }
                }
            )
        }
    }

    /// Notes outcomes of an entry that is not finished.
    package func store(
        _ records: [UInt8],
        of entryID: [UInt8],
        in kind: EntryStream.Kind,
        _ done: @escaping (Answer<Void>) -> Void
    ) {
        let keys = [key(of: kind), keys.outcomes(of: entryID, in: kind)]
        let arguments = [Self.group, consumer, entryID, records, Self.lifetime]
        write(PartScripts.store, keys, arguments, { _ in () }, done)
    }

    /// Lets pushes of an entry wait, as a part of their own; `member` is no other's, and the same when asked again.
    package func delay(
        _ member: [UInt8],
        due: Int64,
        devices: Int,
        records: [UInt8],
        of run: MessageRun,
        target: Int,
        _ done: @escaping (Answer<Void>) -> Void
    ) {
        let keys = [
            key(of: run.kind), keys.run(of: run.message.entryID), keys.delayed,
            keys.outcomes(of: run.entryID, in: run.kind),
        ]
        let numbers = [Int64(target), due, Int64(devices)].map { Array("\($0)".utf8) }
        let arguments = [Self.group, consumer, run.entryID] + numbers + [member, records, Self.lifetime]
        write(PartScripts.delay, keys, arguments, { _ in () }, done)
    }

    /// A retry that waits, as it stands in the sorted set.
    package static func delayedMember(nonce: String, messageID: [UInt8], part: MessagePart) -> [UInt8] {
        Array("\(nonce) ".utf8) + messageID + Array(" \(part.target) ".utf8) + part.tokens.bytes
    }

    /// Makes due retries parts; answers how many, and in how many milliseconds the next is due.
    package func release(
        atMost count: Int,
        upTo length: Int,
        _ done: @escaping (Result<(released: Int, nextIn: Int64?), RedisError>) -> Void
    ) {
        let arguments = [count, length].map { Array("\($0)".utf8) }
        redis.evaluate(PartScripts.release, keys: [keys.delayed, keys.batches], arguments: arguments) { result in
            done(
                result.map { value in
                    let next = value[1]?.integer ?? -1
                    return (Int(clamping: value[0]?.integer ?? 0), next < 0 ? nil : next)
                }
            )
        }
    }

    /// The entry is finished; the answer is whether its message is, and the targets that have ended with it.
    ///
    /// `letter`: fields and values of a dead letter that takes the entry's place.
    package func finish(
        _ entryID: [UInt8],
        in kind: EntryStream.Kind,
        messageID: [UInt8],
        shares: [TargetShare],
        letter: [[UInt8]] = [],
        _ done: @escaping (Answer<(isMessageFinished: Bool, ended: [EndedTarget])>) -> Void
    ) {
        let keys = [
            key(of: kind), keys.messages, keys.run(of: messageID), keys.outcomes(of: entryID, in: kind), keys.dead,
            keys.walks(of: messageID),
        ]
        var arguments = [Self.group, [], entryID, messageID, Self.lifetime, Array("\(letter.count)".utf8)] + letter
        for share in shares {
            let tally = share.tally
            // A part's devices were counted by the walk.
            let found = kind == .messages ? ["\(tally.expected)", "\(tally.excluded)"] : ["", ""]
            let counts = [tally.sent, tally.removed, tally.errored, tally.expired, share.retriedDevices].map { "\($0)" }
            arguments += (["\(share.number)"] + found + counts + [share.isWalked ? "1" : "0"]).map { Array($0.utf8) }
        }
        let read = { (value: RESPValue) -> (isMessageFinished: Bool, ended: [EndedTarget])? in
            guard let left = value[0]?.integer else { return nil }
            return (left <= 0, (value[1]?.elements ?? []).compactMap(Self.endedTarget))
        }
        // Once more, only by the owner: another worker may have begun anew, and retries of this one are gone with it.
        var again = arguments
        again[1] = consumer
        write(PartScripts.finish, keys, arguments, again: again, read, done)
    }

    /// Runs a script that may run twice without harm, and again when Redis has lost it, with its arguments for that.
    private func write<Value>(
        _ script: RedisScript,
        _ keys: [[UInt8]],
        _ arguments: [[UInt8]],
        again: [[UInt8]]? = nil,
        _ read: @escaping (RESPValue) -> Value?,
        _ done: @escaping (Answer<Value>) -> Void
    ) {
        redis.evaluate(script, keys: keys, arguments: arguments) { [redis, recent] result in
            let answer = Self.answer(result, read)
            if case .done = answer {
                recent?.note { redis.evaluate(script, keys: keys, arguments: again ?? arguments) { _ in } }
            }
            done(answer)
        }
    }

    private static let lifetime = Array("\(stateLifetime.wholeMilliseconds)".utf8)

    private static func endedTarget(_ value: RESPValue) -> EndedTarget? {
        guard let number = value[0]?.integer else { return nil }
        let counts = (1...6).map { index in Int(clamping: value[index]?.integer ?? 0) }
        return EndedTarget(
            number: Int(clamping: number),
            tally: Tally(
                expected: counts[0],
                excluded: counts[1],
                sent: counts[2],
                removed: counts[3],
                errored: counts[4],
                expired: counts[5]
            )
        )
    }

    private static func answer<Value>(
        _ result: Result<RESPValue, RedisError>,
        _ read: (RESPValue) -> Value?
    ) -> Answer<Value> {
        switch result {
        case .failure(let error): return .unknown(error)
        case .success(let value):
            if value.text == "lost" || value.text == "gone" { return .lost }
            if value.text == "moved" { return .moved }
            guard let answer = read(value) else {
                return .unknown(.invalidReply("a script of the queue was answered with something else"))
            }
            return .done(answer)
        }
    }
}
