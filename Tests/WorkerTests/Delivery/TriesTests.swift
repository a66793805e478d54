import Testing

@testable import Worker

@Suite("What a push has been through")
struct TriesTests {
    @Test("Each kind is counted for itself, and all of them are attempts")
    func kinds() {
        var tries = Tries()
        #expect(tries.attempt == 1)
        #expect(tries.count(.init(status: nil)) == 1)
        #expect(tries.count(.init(status: nil)) == 2)
        #expect(tries.count(.init(status: 503)) == 1)
        #expect(tries.count(.init(status: 429)) == 1)
        #expect(tries.count(.init(status: 400)) == 3)
        #expect(tries.attempt == 6)
        #expect(tries.countResend() == 1)
        #expect(tries.attempt == 6)
    }

    @Test("Counts stand still at their end")
    func saturates() {
        var tries = Tries()
        for _ in 0..<300 {
            _ = tries.count(.server)
            tries.countResend()
        }
        #expect(tries.count(.server) == 255)
        #expect(tries.attempt == 256)
    }

    @Test("What waits in Redis knows all counts again")
    func stored() {
        var tries = Tries()
        for _ in 0..<2 { _ = tries.count(.lost) }
        for _ in 0..<3 { _ = tries.count(.limited) }
        for _ in 0..<4 { _ = tries.count(.server) }
        for _ in 0..<5 { tries.countResend() }
        tries.isRenewed = true
        var tokens = BatchTokens(tracesEachDevice: true)
        tokens.append(.init(member: Array("ab".utf8), tries: tries))
        tokens.append(.init(member: Array("cdef".utf8)))
        let devices = BatchTokens(bytes: tokens.bytes).devices
        #expect(devices?.map(\.tries) == [tries, Tries()])
        #expect(devices?.map(\.member) == [Array("ab".utf8), Array("cdef".utf8)])
        #expect(BatchTokens(bytes: Array(tokens.bytes.dropLast())).devices == nil)
    }
}
