import Synchronization
package import Transport

/// Collects what happens, from any thread, and lets a test wait for it with a deadline.
package final class Recorder<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiters: [Int: @Sendable ([Element]?) -> Bool] = [:]
        var nextNumber = 0
    }

    /// The wait took too long; the text says what had happened by then.
    package struct Overdue: Error, CustomStringConvertible {
        package let description: String
    }

    private let loop: EventLoop
    private let state = Mutex(State())

    /// The loop's timers measure the deadlines.
    package init(on loop: EventLoop) {
        self.loop = loop
    }

    package var elements: [Element] { state.withLock { $0.elements } }

    package func record(_ element: Element) {
        state.withLock { state in
            state.elements.append(element)
            for (number, waiter) in state.waiters where waiter(state.elements) { state.waiters[number] = nil }
        }
    }

    /// Waits until the body finds what it looks for among all elements so far.
    package func find<Value: Sendable>(
        within deadline: Duration = .seconds(20),
        _ body: @escaping @Sendable ([Element]) -> Value?
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let number: Int? = state.withLock { state in
                if let value = body(state.elements) {
                    continuation.resume(returning: value)
                    return nil
                }
                state.nextNumber += 1
                state.waiters[state.nextNumber] = { elements in
                    guard let elements else {
                        continuation.resume(throwing: Overdue(description: "waited in vain for \(deadline)"))
                        return true
                    }
                    guard let value = body(elements) else { return false }
                    continuation.resume(returning: value)
                    return true
                }
                return state.nextNumber
            }
            guard let number else { return }
            loop.execute { self.loop.schedule(after: deadline) { self.expire(number) } }
        }
    }

    /// Waits until there are so many elements.
    package func first(_ count: Int, within deadline: Duration = .seconds(20)) async throws -> [Element] {
        try await find(within: deadline) { $0.count >= count ? Array($0.prefix(count)) : nil }
    }

    private func expire(_ number: Int) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        _ = waiter?(nil)
    }
}
