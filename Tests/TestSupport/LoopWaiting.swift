package import Transport

/// A loop on its own thread for one test, stopped at its end.
@discardableResult
package func withLoop<Result>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop.onNewThread(named: "test loop")
    defer { loop.stop() }
    return try await body(loop)
}

package struct TookTooLong: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

extension EventLoop {
    /// Looks again each millisecond until the condition holds, at most for the duration.
    package func wait(
        for what: String,
        within limit: Duration = .seconds(20),
        until condition: @escaping @Sendable () throws -> Bool
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            execute {
                ConditionWait(what: what, end: self.now + limit, condition: condition, continuation: continuation)
                    .look(on: self)
            }
        }
    }
}

private struct ConditionWait {
    let what: String
    let end: LoopInstant
    let condition: () throws -> Bool
    let continuation: CheckedContinuation<Void, any Error>

    func look(on loop: EventLoop) {
        do {
            if try condition() { return continuation.resume() }
            guard loop.now < end else { throw TookTooLong(description: "\(what) took too long") }
            loop.schedule(after: .milliseconds(1)) { look(on: loop) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
