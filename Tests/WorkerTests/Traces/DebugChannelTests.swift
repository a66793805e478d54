import Testing
import Transport

@testable import Worker

@Suite("Debug channels")
struct DebugChannelTests {
    @Test("One channel serves all messages unless the setting names the message's channel")
    func names() {
        let channel = Array("ch 1".utf8)
        #expect(DebugChannel("pndebug").name(for: channel) == Array("pndebug".utf8))
        #expect(DebugChannel("{channel}-pndebug").name(for: channel) == Array("ch 1-pndebug".utf8))
        #expect(DebugChannel("debug:{channel}:x").name(for: channel) == Array("debug:ch 1:x".utf8))
    }

    @Test(
        "Debug channels are known, so that they are never inspected",
        arguments: [
            ("pndebug", "pndebug", true), ("pndebug", "pndebug2", false), ("pndebug", "a-pndebug", false),
            ("{channel}-pndebug", "a-pndebug", true), ("{channel}-pndebug", "-pndebug", true),
            ("{channel}-pndebug", "pndebug", false), ("d:{channel}:e", "d:e", false), ("d:{channel}:e", "d::e", true),
        ]
    )
    func recognises(setting: String, channel: String, isDebug: Bool) {
        let bytes = Array(channel.utf8)
        let found = bytes.withRawSpan { DebugChannel(setting).includes($0) }
        #expect(found == isDebug)
    }
}
