import Redis
import Synchronization
import TestSupport
import Transport

@testable import Worker

/// The suite's Redis with a queue of its own, and a worker that has taken what is in it.
final class PartsWorld: Sendable {
    let client: RedisClient
    let prefix: String
    let consumer = "worker-1"
    private let queueKeys: RedisKeys

    init(_ prefix: String) async throws {
        client = try await RedisServer.current().client()
        self.prefix = prefix
        queueKeys = RedisKeys(prefix: prefix)
        for stream in ["messages", "batches"] {
            try await call("XGROUP", stream, before: ["CREATE"], ["pushbridge", "0", "MKSTREAM"])
        }
    }

    deinit {
        client.close()
    }

    // MARK: Redis

    /// Runs a command on a key of the queue.
    @discardableResult
    func call(_ name: String, _ key: String, _ arguments: any RedisArgument...) async throws -> RESPValue {
        try await call(name, key, before: [], arguments)
    }

    @discardableResult
    private func call(
        _ name: String,
        _ key: String,
        before: [any RedisArgument],
        _ arguments: [any RedisArgument]
    ) async throws -> RESPValue {
        try await client.call(RedisCommand(name, before + ["\(prefix){queue}:\(key)" as any RedisArgument] + arguments))
    }

    /// The queue's keys, without what they all begin with.
    func keys() async throws -> [String] {
        let keys = try await client.call("KEYS", "\(prefix){queue}:*").elements?.compactMap(\.text) ?? []
        return keys.map { String($0.dropFirst("\(prefix){queue}:".count)) }.sorted()
    }

    func count(_ stream: String) async throws -> Int64? { try await call("XLEN", stream).integer }

    /// Whether nothing but the two empty streams is left.
    func isEmpty() async throws -> Bool {
        let lengths = [try await count("messages"), try await count("batches")]
        return try await keys() == ["batches", "messages"] && lengths == [0, 0]
    }

    func pending(_ stream: String) async throws -> [String] {
        try await call("XPENDING", stream, "pushbridge", "-", "+", 100).elements?.compactMap { $0[0]?.text } ?? []
    }

    func deliveries(_ entry: String) async throws -> Int64? {
        try await call("XPENDING", "messages", "pushbridge", entry, entry, 1)[0]?[3]?.integer
    }

    // MARK: Taking

    /// Adds a message and takes it; answers its entry id.
    func takeMessage() async throws -> String {
        try await call("XADD", "messages", "*", "channel", "c", "message", "{}")
        return try await take("messages").last ?? ""
    }

    /// Gives all messages anew, as if they had never been given.
    func giveAgain(to taker: String) async throws {
        let key = "\(prefix){queue}:messages"
        try await client.call("XGROUP", "SETID", key, "pushbridge", "0")
        try await client.call("XREADGROUP", "GROUP", "pushbridge", taker, "STREAMS", key, ">")
    }

    func takeBatches() async throws -> [String] { try await take("batches") }

    private func take(_ stream: String) async throws -> [String] {
        let reply = try await client.call(
            "XREADGROUP",
            "GROUP",
            "pushbridge",
            consumer,
            "COUNT",
            100,
            "STREAMS",
            "\(prefix){queue}:\(stream)",
            ">"
        )
        return reply[0]?[1]?.elements?.compactMap { $0[0]?.text } ?? []
    }

    // MARK: The worker's steps

    private func ask<Value>(
        _ body: @escaping @Sendable (MessageParts, @escaping (MessageParts.Answer<Value>) -> Void) -> Void,
        _ words: @escaping @Sendable (Value) -> String
    ) async throws -> String {
        let (keys, consumer) = (queueKeys, consumer)
        return try await client.withConnection { connection, done in
            body(MessageParts(redis: connection, keys: keys, consumer: consumer)) { answer in
                switch answer {
                case .done(let value): done(.success(words(value)))
                case .lost: done(.success("lost"))
                case .moved: done(.success("moved"))
                case .unknown(let error): done(.failure(error))
                }
            }
        }
    }

    private static func words(_ unfinished: UnfinishedParts) -> String {
        "parts \(unfinished.parts), retries \(unfinished.retries), waiting \(unfinished.waiting)"
    }

    /// Adds a page with so many devices, and a member that is no token.
    func add(
        _ message: String,
        from previous: RunState.Walk,
        to walk: RunState.Walk,
        _ devices: Range<Int>
    ) async throws -> String {
        try await ask(
            { parts, done in
                var hashes: [UInt8] = []
                for device in devices { hashes.append(littleEndian: UInt64(device)) }
                let page = MessageParts.Page(
                    messageID: Array(message.utf8),
                    target: 0,
                    previous: previous,
                    walk: walk,
                    tally: Tally(expected: devices.upperBound + 1),
                    unusable: 1,
                    hashes: hashes,
                    tokens: RunScene.part(devices)
                )
                parts.add(page, done)
            },
            Self.words
        )
    }

    func unfinished(_ message: String) async throws -> String {
        try await ask(
            { parts, done in
                parts.unfinished(of: Array(message.utf8), target: 0) { done(.done($0 ?? UnfinishedParts())) }
            },
            Self.words
        )
    }

    /// Lets devices of a message, or of one of its parts, wait.
    func delay(
        _ message: String,
        _ devices: Range<Int>,
        member: String,
        due: Int64 = 1,
        part: String? = nil
    ) async throws -> String {
        try await ask(
            { parts, done in Self.delay(parts, message, devices, member, due, part, done) },
            { _ in "done" }
        )
    }

    private static func delay(
        _ parts: MessageParts,
        _ message: String,
        _ devices: Range<Int>,
        _ member: String,
        _ due: Int64 = 1,
        _ part: String? = nil,
        _ done: @escaping (MessageParts.Answer<Void>) -> Void
    ) {
        let scene = RunScene(part == nil ? .messages : .batches, entryID: message)
        let run = MessageRun(
            scene.context,
            kind: scene.run.kind,
            entryID: Array((part ?? message).utf8),
            targetCount: 1,
            owner: scene.owner
        )
        var records: [UInt8] = []
        for token in RunScene.tokens(devices) {
            records.append(littleEndian: StoredOutcome.delayed.record(token: token, target: 0))
        }
        let value = MessageParts.delayedMember(
            nonce: member,
            messageID: Array(message.utf8),
            part: MessagePart(target: 0, tokens: RunScene.part(devices, isRetry: true))
        )
        parts.delay(value, due: due, devices: devices.count, records: records, of: run, target: 0, done)
    }

    func store(_ records: [UInt8], of message: String) async throws -> String {
        try await ask(
            { parts, done in
                parts.store(records, of: Array(message.utf8), in: .messages, done)
            },
            { _ in "done" }
        )
    }

    func release(atMost count: Int = 100, upTo length: Int = 100) async throws -> String {
        try await ask(
            { parts, done in
                parts.release(atMost: count, upTo: length) { result in
                    switch result {
                    case .success(let value): done(.done(value))
                    case .failure(let error): done(.unknown(error))
                    }
                }
            },
            { "\($0.released), next in \($0.nextIn.map { "\($0)" } ?? "nil")" }
        )
    }

    func finish(_ message: String, share: TargetShare?, letter: [[UInt8]] = []) async throws -> String {
        try await finish(message, in: .messages, of: message, share, letter)
    }

    func finishBatch(_ batch: String, of message: String, _ tally: Tally, retried: Int = 0) async throws -> String {
        let share = TargetShare(number: 0, tally: tally, retriedDevices: retried)
        return try await finish(batch, in: .batches, of: message, share, [])
    }

    private func finish(
        _ entry: String,
        in kind: EntryStream.Kind,
        of message: String,
        _ share: TargetShare?,
        _ letter: [[UInt8]]
    ) async throws -> String {
        try await ask(
            { parts, done in
                parts.finish(
                    Array(entry.utf8),
                    in: kind,
                    messageID: Array(message.utf8),
                    shares: share.map { [$0] } ?? [],
                    letter: letter,
                    done
                )
            },
            { end in
                let targets = end.ended.map { target in
                    let tally = target.tally
                    return ", target \(target.number): expected \(tally.expected), sent \(tally.sent), "
                        + "removed \(tally.removed), errored \(tally.errored), expired \(tally.expired)"
                }
                return ([end.isMessageFinished ? "finished" : "unfinished"] + targets).joined()
            }
        )
    }

    /// Lets devices of a message wait and finishes it, then does both again as for another server; in between, `lose`.
    func twice(_ message: String, _ devices: Range<Int>, _ lose: () async throws -> Void) async throws -> [String] {
        let (keys, consumer) = (queueKeys, consumer)
        let holder = Holder()
        let answers: [String] = try await client.withConnection { connection, done in
            let writes = RecentWrites(loop: connection.loop)
            holder.writes.withLock { $0 = LoopConfined(writes, on: connection.loop) }
            writes.connected(to: "first")
            let parts = MessageParts(redis: connection, keys: keys, consumer: consumer, recent: writes)
            let share = TargetShare(number: 0, tally: Tally(expected: devices.count))
            let id = Array(message.utf8)
            Self.delay(parts, message, devices, "n") { delayed in
                parts.finish(id, in: .messages, messageID: id, shares: [share]) { finished in
                    guard case .done = delayed, case .done(let end) = finished else { return done(.success([])) }
                    done(.success(["delayed", end.isMessageFinished ? "finished" : "unfinished"]))
                }
            }
        }
        try await lose()
        try await client.withConnection { connection, done in
            let writes = holder.writes.withLock { $0 }?.value
            writes?.connected(to: "second")
            writes?.close()
            // Answered after all that is made again.
            connection.send(RedisCommand("PING")) { done($0) }
        }
        return answers
    }

    private final class Holder: Sendable {
        let writes = Mutex<LoopConfined<RecentWrites>?>(nil)
    }

    /// The outcome of a token, and where the walk of the first target is.
    func load(_ message: String, token: [UInt8]) async throws -> (StoredOutcome?, RunState.Walk?) {
        let keys = queueKeys
        let consumer = consumer
        return try await client.withConnection { connection, done in
            let parts = MessageParts(redis: connection, keys: keys, consumer: consumer)
            parts.load(Array(message.utf8), of: .messages, messageID: Array(message.utf8)) { result in
                done(result.map { ($0.0.outcome(token: token, target: 0), $0.1.targets[0]?.walk) })
            }
        }
    }
}
