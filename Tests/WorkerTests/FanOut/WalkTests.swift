import Testing

@testable import Worker

@Suite("Messages of parts that were served last")
struct RecentContextsTests {
    @Test("A message is found by its entry until others have taken its place")
    func count() {
        var recent = RecentContexts()
        for number in 0...RecentContexts.maximumCount {
            recent.insert(RunScene(entryID: "\(number)-0").context)
        }
        #expect(recent[Array("0-0".utf8)] == nil)
        #expect(recent[Array("1-0".utf8)]?.message.id == "1-0")
    }

    @Test("Long messages take the place of more, but for the last one")
    func bytes() {
        var recent = RecentContexts()
        for number in 0..<4 {
            recent.insert(RunScene(entryID: "\(number)-0", bytes: RecentContexts.maximumBytes / 2).context)
        }
        #expect((0..<4).map { recent[Array("\($0)-0".utf8)] != nil } == [false, false, false, true])
        recent.insert(RunScene(entryID: "9-0", bytes: RecentContexts.maximumBytes * 2).context)
        #expect(recent[Array("9-0".utf8)] != nil)
        #expect(recent[Array("3-0".utf8)] == nil)
    }

    @Test("The first of two contexts of a message stays, with what it has traced")
    func twice() {
        var recent = RecentContexts()
        let first = RunScene().context
        recent.insert(first)
        recent.insert(RunScene().context)
        #expect(recent[first.message.entryID] === first)
    }
}
