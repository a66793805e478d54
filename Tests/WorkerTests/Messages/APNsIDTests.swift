import Testing
import Worker

@Suite struct APNsIDTests {
    private func target(_ configuration: String, defaultTopic: String? = nil) throws -> Target {
        let push = configuration.isEmpty ? "" : #","pn_push":[\#(configuration)]"#
        return try #require(PlanText.plan(#"{"pn_apns":{"aps":{}\#(push)}}"#, defaultTopic: defaultTopic).targets.first)
    }

    @Test("An id is a lower-case UUID of version 8, and the same at each call")
    func isUUID() throws {
        let target = try target(#"{"targets":[{"topic":"com.ex"}]}"#)
        for token in [
            "", "a", "ab12", String(repeating: "0123456789abcdef", count: 4), String(repeating: "f", count: 200),
        ] {
            let id = String(decoding: APNsID(messageID: "1-0", target: target)(Array(token.utf8)), as: UTF8.self)
            #expect(
                id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil,
                "\(id)"
            )
            #expect(id == String(decoding: APNsID(messageID: "1-0", target: target)(Array(token.utf8)), as: UTF8.self))
        }
    }

    @Test("An id never changes from one version of the program to the next")
    func isStable() throws {
        let target = try target(
            #"{"collapse_id":"c","push_type":"voip","targets":[{"topic":"com.ex","environment":"production"}]}"#
        )
        let id = APNsID(messageID: "1764500000000-0", target: target)(Array("abcdef0123456789".utf8))
        #expect(String(decoding: id, as: UTF8.self) == "57765489-2e91-8c3e-b1a9-9eba10a795eb")
    }

    @Test("All that makes the push makes the id")
    func dependsOnAll() throws {
        let configurations = [
            #"{"targets":[{"topic":"com.ex"}]}"#, #"{"targets":[{"topic":"com.ex.a"}]}"#,
            #"{"targets":[{"topic":"com.ex","environment":"production"}]}"#,
            #"{"push_type":"voip","targets":[{"topic":"com.ex"}]}"#,
            #"{"collapse_id":"c","targets":[{"topic":"com.ex"}]}"#,
            #"{"collapse_id":"cc","targets":[{"topic":"com.ex"}]}"#,
        ]
        var ids: Set<[UInt8]> = []
        for message in ["1-0", "1-1", "11-0"] {
            for configuration in configurations {
                let id = try APNsID(messageID: message, target: target(configuration))
                for token in ["", "aa", "ab", "aab", "\0", "\0\0"] { ids.insert(id(Array(token.utf8))) }
            }
            let legacy = try APNsID(messageID: message, target: target("", defaultTopic: "com.ex"))
            ids.insert(legacy(Array("aa".utf8)))
        }
        #expect(ids.count == 3 * (configurations.count * 6 + 1))
    }

    /// Millions take their time without optimisation.
    #if DEBUG
    private static let deviceCount = 200_000
    #else
    private static let deviceCount = 4_000_000
    #endif

    @Test("Each of many devices has an id of its own, in each half of the id")
    func doesNotCollide() throws {
        let id = APNsID(messageID: "1-0", target: try target(#"{"targets":[{"topic":"com.ex"}]}"#))
        var token = Array(String(repeating: "0", count: 64).utf8)
        let digits = Array("0123456789abcdef".utf8)
        var first: [UInt64] = []
        var second: [UInt64] = []
        for number in 0..<Self.deviceCount {
            for place in 0..<6 { token[63 - place] = digits[number >> (place * 4) & 15] }
            let bytes = id(token)
            first.append(word(bytes[..<18]))
            second.append(word(bytes[19...]))
        }
        for half in [first, second] {
            let sorted = half.sorted()
            #expect(zip(sorted, sorted.dropFirst()).allSatisfy { $0 != $1 })
        }
    }

    private func word(_ text: ArraySlice<UInt8>) -> UInt64 {
        text.reduce(0) { word, byte in
            byte == UInt8(ascii: "-") ? word : word << 4 | UInt64(byte <= UInt8(ascii: "9") ? byte - 48 : byte - 87)
        }
    }
}
