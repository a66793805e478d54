import Testing

@testable import Worker

@Suite("Tokens met by a walk")
struct SeenTokensTests {
    @Test("Each token is new once, whatever the number")
    func insertsOnce() {
        var seen = SeenTokens()
        let tokens = (0..<50_000).map { Array("token-\($0)-\($0 &* 2_654_435_761)".utf8) }
        let isNew = tokens.map { seen.insert(hash: TokenHash.of($0)) }
        let isNewAgain = tokens.map { seen.insert(hash: TokenHash.of($0)) }
        #expect(!isNew.contains(false))
        #expect(!isNewAgain.contains(true))
    }

    @Test(
        "Tokens that differ little are different",
        arguments: [
            ("", "0"), ("a", "b"), ("00000000", "000000000"), ("abcdefgh1", "abcdefgh2"), ("abcdefgh", "bbcdefgh"),
        ]
    )
    func tellsApart(first: String, second: String) {
        var seen = SeenTokens()
        let isNew = [first, second, first].map { seen.insert(hash: TokenHash.of(Array($0.utf8))) }
        #expect(isNew == [true, true, false])
    }

    @Test("A walk goes on from the hashes that Redis kept")
    func fromHashes() {
        let hashes = (0..<5000).map { TokenHash.of(Array("token-\($0)".utf8)) }
        var bytes: [UInt8] = []
        for hash in hashes { bytes.append(littleEndian: hash) }
        var seen = SeenTokens(hashes: bytes + [1, 2, 3])
        let areNew = hashes.map { seen.insert(hash: $0) }
        #expect(!areNew.contains(true))
        let isNew = seen.insert(hash: TokenHash.of(Array("another".utf8)))
        #expect(isNew)
    }

    @Test("Hashes are the same in every version, since Redis keeps them")
    func stableHashes() {
        #expect(TokenHash.of(Array("ab".utf8)) == TokenHash.of([0x61, 0x62]))
        #expect(TokenHash.of(Array("0123456789abcdef".utf8), salt: 3) == 2_743_216_371_514_215_830)
        #expect(TokenHash.of([]) == 2_302_960_717_771_869_484)
    }
}
