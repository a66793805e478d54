import Redis
import TestSupport
import Testing

@testable import Worker

@Suite("What Redis knows of messages with parts, against a real one", .redisServer, .timeLimit(.minutes(1)))
struct PartScriptsTests {
    private static let middle = RunState.Walk.at(cursor: "7", server: "s")

    @Test("A message leaves the queue with its last part, and nothing is left of it")
    func wholeLife() async throws {
        let world = try await PartsWorld("life:")
        let message = try await world.takeMessage()
        #expect(try await world.add(message, from: .none, to: Self.middle, 0..<600) == "parts 2, retries 0, waiting 0")
        #expect(
            try await world.add(message, from: Self.middle, to: .done, 600..<700) == "parts 3, retries 0, waiting 0"
        )
        #expect(try await world.keys() == ["batches", "messages", "run:\(message)"])
        let batches = try await world.takeBatches()
        let own = TargetShare(number: 0, tally: Tally(expected: 701, errored: 1), isWalked: true)
        #expect(try await world.finish(message, share: own) == "unfinished")
        #expect(try await world.finishBatch(batches[0], of: message, Tally(sent: 590, removed: 10)) == "unfinished")
        #expect(try await world.count("messages") == 1)
        #expect(
            try await world.finishBatch(batches[1], of: message, Tally(sent: 99, expired: 1))
                == "finished, target 0: expected 701, sent 689, removed 10, errored 1, expired 1"
        )
        #expect(try await world.isEmpty())
    }

    @Test("A message ends after its parts as well as before them")
    func lastOfAll() async throws {
        let world = try await PartsWorld("last:")
        let message = try await world.takeMessage()
        _ = try await world.add(message, from: .none, to: .done, 0..<3)
        let batch = try await world.takeBatches()[0]
        #expect(try await world.finishBatch(batch, of: message, Tally(sent: 3)) == "unfinished")
        #expect(try await world.count("messages") == 1)
        let own = TargetShare(number: 0, tally: Tally(expected: 3), isWalked: true)
        #expect(try await world.finish(message, share: own).hasPrefix("finished, target 0: expected 3, sent 3"))
        #expect(try await world.isEmpty())
    }

    @Test("Each end counts once")
    func finishTwice() async throws {
        let world = try await PartsWorld("twice:")
        let message = try await world.takeMessage()
        _ = try await world.add(message, from: .none, to: .done, 0..<3)
        let batch = try await world.takeBatches()[0]
        _ = try await world.finishBatch(batch, of: message, Tally(sent: 3))
        #expect(try await world.finishBatch(batch, of: message, Tally(sent: 3)) == "lost")
        let own = TargetShare(number: 0, tally: Tally(expected: 3), isWalked: true)
        #expect(try await world.finish(message, share: own).hasPrefix("finished, target 0: expected 3, sent 3"))
        #expect(try await world.finish(message, share: own) == "lost")
    }

    @Test("A page that does not follow the one before it is refused: none can be left out")
    func order() async throws {
        let world = try await PartsWorld("order:")
        let message = try await world.takeMessage()
        let later = RunState.Walk.at(cursor: "9", server: "s")
        #expect(try await world.add(message, from: Self.middle, to: later, 0..<3) == "moved")
        #expect(try await world.keys() == ["batches", "messages"])
        _ = try await world.add(message, from: .none, to: Self.middle, 0..<3)
        #expect(try await world.add(message, from: .none, to: Self.middle, 0..<3) == "moved")
        #expect(try await world.add(message, from: later, to: .done, 6..<9) == "moved")
        #expect(try await world.count("batches") == 1)
        #expect(try await world.add(message, from: Self.middle, to: later, 3..<6).hasPrefix("parts 3"))
        #expect(try await world.call("STRLEN", "walk:\(message):0") == .integer(48))
    }

    @Test("Made again after Redis lost it, an end counts only for the owner, whose retries are made again before it")
    func lostWrites() async throws {
        for isOwner in [true, false] {
            let world = try await PartsWorld("lost\(isOwner):")
            let message = try await world.takeMessage()
            // Another life of Redis, which knows nothing of what was confirmed, but that the message was taken.
            let answers = try await world.twice(message, 0..<2) {
                for key in ["delayed", "run:\(message)"] { try await world.call("DEL", key) }
                try await world.giveAgain(to: isOwner ? world.consumer : "other")
            }
            #expect(answers == ["delayed", "unfinished"])
            #expect(try await world.call("ZCARD", "delayed") == .integer(isOwner ? 1 : 0))
            #expect(try await world.pending("messages") == (isOwner ? [] : [message]))
        }
    }

    @Test("What is kept of a walk is not kept for ever")
    func lifetime() async throws {
        let world = try await PartsWorld("lifetime:")
        let message = try await world.takeMessage()
        _ = try await world.add(message, from: .none, to: Self.middle, 0..<3)
        #expect(try await world.delay(message, 5..<6, member: "n1") == "done")
        for key in ["run:\(message)", "walk:\(message):0", "done:\(message)"] {
            #expect(try await world.call("PTTL", key).integer ?? 0 > 29 * 86_400_000)
        }
    }

    @Test(
        "A message that Redis knows no walk's end of is not finished, and may be taken over",
        arguments: [true, false]
    )
    func lostPages(isBegun: Bool) async throws {
        let world = try await PartsWorld("pages\(isBegun):")
        let message = try await world.takeMessage()
        if isBegun { _ = try await world.add(message, from: .none, to: Self.middle, 0..<3) }
        let own = TargetShare(number: 0, tally: Tally(expected: 9), isWalked: true)
        #expect(try await world.finish(message, share: own) == "moved")
        #expect(try await world.pending("messages") == [message])
    }

    @Test("Retries are in the queue once, become parts when they are due, and hold no walk up meanwhile")
    func retries() async throws {
        let world = try await PartsWorld("retry:")
        let message = try await world.takeMessage()
        for _ in 0..<2 {
            #expect(try await world.delay(message, 0..<2, member: "n1") == "done")
        }
        #expect(try await world.unfinished(message) == "parts 2, retries 1, waiting 2")
        #expect(try await world.call("ZCARD", "delayed") == .integer(1))
        let own = TargetShare(number: 0, tally: Tally(expected: 5, sent: 3))
        #expect(try await world.finish(message, share: own) == "unfinished")
        #expect(try await world.count("messages") == 1)
        #expect(try await world.release() == "1, next in nil")
        let batch = try await world.takeBatches()[0]
        #expect(
            try await world.finishBatch(batch, of: message, Tally(sent: 2), retried: 2)
                == "finished, target 0: expected 5, sent 5, removed 0, errored 0, expired 0"
        )
        #expect(try await world.isEmpty())
    }

    @Test("A part that is finished gives its devices back to those that wait for none")
    func retriesOfRetries() async throws {
        let world = try await PartsWorld("again:")
        let message = try await world.takeMessage()
        _ = try await world.delay(message, 0..<2, member: "n1")
        _ = try await world.release()
        let batch = try await world.takeBatches()[0]
        #expect(try await world.delay(message, 1..<2, member: "n2", part: batch) == "done")
        #expect(try await world.unfinished(message) == "parts 3, retries 2, waiting 3")
        #expect(try await world.finishBatch(batch, of: message, Tally(sent: 1), retried: 2) == "unfinished")
        #expect(try await world.unfinished(message) == "parts 2, retries 1, waiting 1")
    }

    @Test("Nothing is released before its time, and only as much as there is room for")
    func release() async throws {
        let world = try await PartsWorld("release:")
        let message = try await world.takeMessage()
        for number in 0..<3 { _ = try await world.delay(message, number..<(number + 1), member: "n\(number)") }
        _ = try await world.delay(message, 8..<9, member: "later", due: .max / 1_000_000)
        #expect(try await world.release(atMost: 2).hasPrefix("2, next in 0"))
        #expect(try await world.release(atMost: 2, upTo: 2).hasPrefix("0, next in 0"))
        #expect(try await !world.release(atMost: 2).hasPrefix("0"))
        #expect(try await world.release().hasPrefix("0, next in"))
        #expect(try await world.count("batches") == 3)
        #expect(try await world.call("ZCARD", "delayed") == .integer(1))
    }

    @Test("Whoever does not own the entry changes nothing")
    func notTheOwner() async throws {
        let world = try await PartsWorld("owner:")
        let message = try await world.takeMessage()
        try await world.call("XCLAIM", "messages", "pushbridge", "other", 0, message)
        let before = try await world.keys()
        #expect(try await world.add(message, from: .none, to: .done, 0..<3) == "lost")
        #expect(try await world.delay(message, 0..<1, member: "n") == "lost")
        #expect(try await world.store([1, 2, 3, 4, 5, 6, 7, 8], of: message) == "lost")
        #expect(try await world.keys() == before)
    }

    @Test("An entry with something to show for it has not killed its workers", arguments: ["page", "outcome", "retry"])
    func progress(kind: String) async throws {
        let world = try await PartsWorld("progress-\(kind):")
        let message = try await world.takeMessage()
        try await world.call(
            "XCLAIM",
            "messages",
            "pushbridge",
            world.consumer,
            0,
            message,
            "RETRYCOUNT",
            3,
            "JUSTID"
        )
        switch kind {
        case "page": _ = try await world.add(message, from: .none, to: .done, 0..<3)
        case "outcome": #expect(try await world.store([1, 2, 3, 4, 5, 6, 7, 8], of: message) == "done")
        default: _ = try await world.delay(message, 0..<1, member: "n")
        }
        #expect(try await world.deliveries(message) == 1)
    }

    @Test("Stored outcomes and the state of a run are read together, and go with their entry")
    func load() async throws {
        let world = try await PartsWorld("load:")
        let message = try await world.takeMessage()
        var record: [UInt8] = []
        record.append(littleEndian: StoredOutcome.removed.record(token: [7], target: 0))
        _ = try await world.store(record, of: message)
        _ = try await world.add(message, from: .none, to: Self.middle, 0..<3)
        let (outcome, walk) = try await world.load(message, token: [7])
        #expect(outcome == .removed)
        #expect(walk == Self.middle)
        #expect(try await world.finish(message, share: nil) == "unfinished")
        #expect(try await world.keys().contains("done:\(message)") == false)
    }

    @Test("A message that is put aside leaves its dead letter, and no trace of its walk")
    func buried() async throws {
        let world = try await PartsWorld("buried:")
        let message = try await world.takeMessage()
        _ = try await world.add(message, from: .none, to: Self.middle, 0..<3)
        let letter = ["reason", "WorkerDied", "channel", "c"].map { Array($0.utf8) }
        #expect(try await world.finish(message, share: nil, letter: letter) == "unfinished")
        #expect(try await world.count("dead") == 1)
        #expect(try await world.keys() == ["batches", "dead", "messages", "run:\(message)"])
        let batch = try await world.takeBatches()[0]
        #expect(try await world.finishBatch(batch, of: message, Tally(sent: 3)) == "finished")
        #expect(try await world.keys() == ["batches", "dead", "messages"])
        #expect(try await world.count("messages") == 0)
    }
}
