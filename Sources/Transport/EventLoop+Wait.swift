import Dispatch
import Synchronization

extension EventLoop {
    /// Runs the body on the loop while the calling thread, another one, blocks for its result.
    ///
    /// Nil if that took longer than the deadline, after which the body may still run, or if the loop has ended.
    package func wait<Value: Sendable>(within deadline: Duration, for body: @escaping @Sendable () -> Value) -> Value? {
        precondition(!isCurrent, "the loop's own thread would wait for itself")
        let result = WaitedValue<Value>()
        guard mailbox.add(.work { result.set(body()) }) else { return nil }
        return result.wait(within: deadline)
    }
}

/// One value that one thread waits for and another one gives.
private final class WaitedValue<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ value: Value) {
        self.value.withLock { $0 = value }
        isSet.signal()
    }

    func wait(within deadline: Duration) -> Value? {
        let nanoseconds = Int(clamping: deadline.clampedNanoseconds)
        guard isSet.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success else { return nil }
        return value.withLock { $0 }
    }
}
