import Dispatch
import Synchronization

/// Runs an asynchronous body to its end while this thread, the main one, waits.
func waiting<Value: Sendable>(for body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let box = Box<Value>()
    Task.detached {
        do {
            box.finish(.success(try await body()))
        } catch {
            box.finish(.failure(error))
        }
    }
    return try box.wait()
}

/// Hands one result from a task to a waiting thread.
private final class Box<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    func finish(_ result: Result<Value, any Error>) {
        self.result.withLock { $0 = result }
        done.signal()
    }

    func wait() throws -> Value {
        done.wait()
        guard let result = result.withLock({ $0 }) else { preconditionFailure("signalled without a result") }
        return try result.get()
    }
}
