import Testing

@testable import Worker

@Suite("The devices of a part, as Redis keeps them")
struct BatchTokensTests {
    private typealias Device = BatchTokens.Device

    private static func tries(_ counts: [UInt8], isRenewed: Bool = false) -> Tries {
        var tries = Tries()
        (tries.lost, tries.limited, tries.server, tries.resends) = (counts[0], counts[1], counts[2], counts[3])
        tries.isRenewed = isRenewed
        return tries
    }

    @Test(
        "What is written is read again",
        arguments: [
            [], [Device(member: Array("ab12".utf8))],
            [Device(member: []), Device(member: [0, 32, 255], tries: tries([1, 2, 3, 4], isRenewed: true))],
            [Device(member: [UInt8](repeating: 7, count: 4096), tries: tries([255, 0, 255, 0]))],
        ]
    )
    func readsWhatItWrites(devices: [BatchTokens.Device]) {
        for (tracesEach, isRetry) in [(false, false), (true, false), (false, true), (true, true)] {
            var tokens = BatchTokens(tracesEachDevice: tracesEach, isRetry: isRetry)
            for device in devices { tokens.append(device) }
            let read = BatchTokens(bytes: tokens.bytes)
            #expect(read.devices == devices)
            #expect(read.tracesEachDevice == tracesEach)
            #expect(read.isRetry == isRetry)
        }
    }

    @Test("Bytes that were cut anywhere, or are none, are no devices")
    func damaged() {
        var tokens = BatchTokens(tracesEachDevice: false)
        tokens.append(Device(member: [1, 2, 3]))
        #expect(BatchTokens(bytes: []).devices == nil)
        for length in 2..<tokens.bytes.count {
            #expect(BatchTokens(bytes: Array(tokens.bytes[..<length])).devices == nil)
        }
        #expect(BatchTokens(bytes: [0]).devices == [])
    }
}
