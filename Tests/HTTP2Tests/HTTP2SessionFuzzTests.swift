import HTTP2
import Testing
import Transport

@Suite("Sessions and damaged bytes")
struct HTTP2SessionFuzzTests {
    @Test("Whatever the server sends, each request has exactly one outcome", arguments: 0..<20 as Range<UInt64>)
    func damagedServer(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        for _ in 0..<50 {
            let pair = try MemoryPair()
            defer { pair.close() }
            pair.respond = { session, request in
                try session.respond(
                    request.streamID,
                    status: request.streamID % 3 == 0 ? 200 : 400,
                    headers: [HTTP2HeaderField("apns-id", "id")],
                    body: Array(#"{"reason":"BadDeviceToken"}"#.utf8)
                )
            }
            try pair.pump()
            var submitted: Set<Int> = []
            for tag in 0..<20 {
                if pair.submit(pushRequest(bodyOf: 300), tag: tag) { submitted.insert(tag) }
                if tag % 7 == 0 { try exchange(pair, damaging: &random) }
            }
            try exchange(pair, damaging: &random)
            pair.client?.expire(submittedUntil: LoopInstant(nanoseconds: 0), reason: "late")
            _ = try? pair.clientOutput()
            pair.client?.connectionLost(unsent: 0, reason: "lost")
            #expect(submitted == Set(pair.answers.keys).union(pair.failures.keys))
            #expect(Set(pair.answers.keys).isDisjoint(with: pair.failures.keys))
            #expect(pair.client?.openCount == 0)
        }
    }

    @Test("Whatever the client sends, the server lives", arguments: 0..<20 as Range<UInt64>)
    func damagedClient(seed: UInt64) throws {
        var random = SplitMix(state: seed &+ 1000)
        for _ in 0..<50 {
            let pair = try MemoryPair(keepsRequests: seed % 2 == 0)
            defer { pair.close() }
            pair.respond = { session, request in try session.respond(request.streamID, status: 200, body: [1, 2, 3]) }
            try pair.pump()
            for tag in 0..<10 { _ = pair.submit(pushRequest(bodyOf: 300), tag: tag) }
            let bytes = random.damaged(try pair.clientOutput())
            // Cut anywhere, as the network does.
            let cut = bytes.isEmpty ? 0 : Int(random.next() % UInt64(bytes.count))
            try? pair.server?.receive(Array(bytes[..<cut]))
            _ = try? pair.serverOutput()
            try? pair.server?.receive(Array(bytes[cut...]))
            _ = try? pair.serverOutput()
            #expect(pair.requests.count <= 11)
        }
    }

    private func exchange(_ pair: MemoryPair, damaging random: inout SplitMix) throws {
        try? pair.server?.receive(pair.clientOutput())
        guard let bytes = try? pair.serverOutput() else { return }
        try? pair.client?.receive(random.damaged(bytes))
    }
}

/// Numbers that are the same in every run (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// The bytes with a few of them changed, left out or repeated.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<(next() % 4) where !bytes.isEmpty {
            let place = Int(next() % UInt64(bytes.count))
            switch next() % 3 {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
            case 1: bytes.remove(at: place)
            default: bytes.insert(contentsOf: bytes[place...].prefix(Int(next() % 30)), at: place)
            }
        }
        return bytes
    }
}
