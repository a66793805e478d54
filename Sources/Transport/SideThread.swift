import CLinux
import Glibc
import Synchronization

/// One thread for calls that block, in the order in which they are given; it ends with the last reference.
package final class SideThread: Sendable {
    private let queue: WorkQueue

    package init(named name: String) throws(TransportError) {
        let queue = try WorkQueue()
        self.queue = queue
        try startThread(named: name) { queue.workOff() }
    }

    deinit {
        queue.end()
    }

    /// Runs the work on the thread; from any thread.
    package func run(_ work: @escaping @Sendable () -> Void) {
        queue.add(work)
    }

    /// Runs the work on the thread and hands its result to the loop; loop only.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable () -> Value,
        on loop: EventLoop,
        then: @escaping (Value) -> Void
    ) {
        let continuation = LoopConfined(then, on: loop)
        queue.add {
            let value = work()
            loop.execute { continuation.value(value) }
        }
    }
}

private final class WorkQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isEnded = false
    }

    private let state = Mutex(State())
    // Blocking: the thread sleeps in reading it.
    private let signal: Descriptor

    init() throws(TransportError) {
        signal = Descriptor(try checked("eventfd") { eventfd(0, Int32(EFD_CLOEXEC)) })
    }

    func add(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.waiting.append(work) }
        _ = retryingInterrupts { eventfd_write(signal.number, 1) }
    }

    /// What waits is still done.
    func end() {
        state.withLock { $0.isEnded = true }
        _ = retryingInterrupts { eventfd_write(signal.number, 1) }
    }

    func workOff() {
        while true {
            var count: eventfd_t = 0
            _ = retryingInterrupts { unsafe eventfd_read(signal.number, &count) }
            let (works, isEnded) = state.withLock { state in
                defer { state.waiting = [] }
                return (state.waiting, state.isEnded)
            }
            for work in works { work() }
            if isEnded { return }
        }
    }
}
