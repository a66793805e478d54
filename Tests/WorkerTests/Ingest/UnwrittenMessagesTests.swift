import Testing

@testable import Worker

@Suite("Messages that Redis has not confirmed")
struct UnwrittenMessagesTests {
    @Test("A failed write is tried again, in the order of arrival, and a confirmed one is forgotten")
    func retries() throws {
        var messages = UnwrittenMessages(maximumBytes: 100)
        let firstNumber = messages.add(channel: [1], message: [1])
        let first = try #require(firstNumber)
        let secondNumber = messages.add(channel: [2], message: [2])
        let second = try #require(secondNumber)
        let taken = messages.take(first)
        let again = messages.take(first)
        _ = messages.take(second)
        #expect(taken?.message == [1])
        #expect(again == nil)
        #expect(messages.waiting().isEmpty)
        messages.failed(second)
        messages.failed(first)
        #expect(messages.waiting() == [first, second])
        messages.written(first)
        messages.written(second)
        #expect(messages.isEmpty)
    }

    @Test("No more bytes are held than allowed, and room comes back")
    func bound() throws {
        var messages = UnwrittenMessages(maximumBytes: 10)
        let firstNumber = messages.add(channel: [], message: [UInt8](repeating: 0, count: 8))
        let first = try #require(firstNumber)
        let refused = messages.add(channel: [], message: [1, 2, 3])
        messages.written(first)
        let accepted = messages.add(channel: [], message: [1, 2, 3])
        #expect(refused == nil)
        #expect(accepted != nil)
    }
}
