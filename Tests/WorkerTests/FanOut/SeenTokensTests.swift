import Testing

@testable import Worker

@Suite("Tokens met by a walk")
struct SeenTokensTests {
    @Test("Each token is new once, whatever the number")
    func insertsOnce() {
        var seen = SeenTokens()
        let tokens = (0..<50_000).map { Array("token-\($0)-\($0 &* 2_654_435_761)".utf8) }
        let isNew = tokens.map { seen.insert($0) }
        let isNewAgain = tokens.map { seen.insert($0) }
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
        let isNew = [first, second, first].map { seen.insert(Array($0.utf8)) }
        #expect(isNew == [true, true, false])
    }
}
