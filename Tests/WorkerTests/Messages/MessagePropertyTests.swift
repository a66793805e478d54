import Foundation
import Testing
import Worker

@Suite struct MessagePropertyTests {
    static let fixtures: [[UInt8]] = MessageFixtureTests.names.compactMap { name in
        (try? Data(contentsOf: MessageFixtureTests.folder.appending(path: name + ".json"))).map { Array($0) }
    }

    static let corpus: [URL] =
        (try? FileManager.default.contentsOfDirectory(
            at: MessageFixtureTests.folder.appending(path: "../corpus").standardizedFileURL,
            includingPropertiesForKeys: nil
        )) ?? []

    private func check(_ bytes: [UInt8]) {
        let problem =
            MessageProperties.document(bytes) ?? MessageProperties.filter(bytes) ?? MessageProperties.plan(bytes)
            ?? MessageProperties.plan(bytes, defaultTopic: nil)
        #expect(problem == nil, "\(String(decoding: bytes, as: UTF8.self))")
    }

    @Test("Every promise holds for the messages of the SDKs")
    func holdsForFixtures() {
        for message in Self.fixtures { check(message) }
    }

    @Test("Every promise holds for what fuzzing found")
    func holdsForCorpus() throws {
        #expect(!Self.corpus.isEmpty)
        for file in Self.corpus { check(Array(try Data(contentsOf: file))) }
    }

    @Test("Every promise holds when any value is of another kind")
    func holdsForOtherKinds() {
        let others = [
            "null", "true", "0", "-1.5e3", "\"\"", "\"x\"", "[]", "[null]", "[1,\"a\",{}]", "{}", "{\"a\":null}",
        ]
        for message in Self.fixtures {
            for range in Self.values(of: message) {
                for other in others {
                    check(message[..<range.lowerBound] + Array(other.utf8) + message[range.upperBound...])
                }
            }
        }
    }

    @Test("Every promise holds for messages with bytes changed, left out and doubled")
    func holdsForDamage() {
        var generator = SplitMix(state: 0x5EED)
        for message in Self.fixtures {
            for _ in 0..<120 {
                var damaged = message
                for _ in 0..<Int.random(in: 1...3, using: &generator) where !damaged.isEmpty {
                    let place = Int.random(in: 0..<damaged.count, using: &generator)
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: damaged[place] = UInt8.random(in: 0...255, using: &generator)
                    case 1: damaged.remove(at: place)
                    case 2: damaged.insert(damaged[place], at: place)
                    default: damaged[place] = Array("{}[]\",:\\0pn_".utf8).randomElement(using: &generator) ?? 0
                    }
                }
                check(damaged)
            }
        }
    }

    /// Where values stand: behind a colon, an opening bracket or a comma, up to the next of these or a closing one.
    private static func values(of message: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for index in message.indices where message[index] == UInt8(ascii: ":") {
            var depth = 0
            var isText = false
            let rest = message[(index + 1)...]
            let end = rest.firstIndex { byte in
                if byte == UInt8(ascii: "\"") { isText.toggle() }
                guard !isText else { return false }
                if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") { depth += 1 }
                if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") { depth -= 1 }
                return depth < 0 || (depth == 0 && byte == UInt8(ascii: ","))
            }
            ranges.append((index + 1)..<(end ?? message.endIndex))
        }
        return ranges
    }
}

/// A generator with a seed, so that a failure comes again.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
