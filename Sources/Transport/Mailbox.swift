import CLinux
import Glibc
import Synchronization

/// Work for a loop from any thread.
///
/// A sleeping loop is woken once for a batch; one that is awake is not woken at all.
final class Mailbox: Sendable {
    enum Item: Sendable {
        case work(@Sendable () -> Void)
        case job(UnownedJob)
    }

    private struct State {
        var items: [Item] = []
        var isAwake = true
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal: Descriptor

    init() throws(TransportError) {
        signal = Descriptor(try checked("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
    }

    /// The descriptor that becomes readable when the loop must wake up.
    var wakeDescriptor: Int32 { signal.number }

    /// Adds work; false if the loop has ended, and the work is dropped.
    @discardableResult
    func add(_ item: Item) -> Bool {
        let (accepted, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.items.append(item)
            defer { state.isAwake = true }
            return (true, !state.isAwake)
        }
        if mustWake { wake() }
        return accepted
    }

    /// Wakes the loop even if there is no work.
    func wake() {
        _ = retryingInterrupts { eventfd_write(signal.number, 1) }
    }

    /// Called by the loop before it sleeps: true if there is nothing to do, and from then on additions wake it.
    func prepareToSleep() -> Bool {
        state.withLock { state in
            guard state.items.isEmpty else { return false }
            state.isAwake = false
            return true
        }
    }

    /// Called by the loop after it woke: takes everything.
    ///
    /// `items` must be empty; its storage is used again.
    func take(_ items: inout [Item]) {
        state.withLock { state in
            state.isAwake = true
            if !state.items.isEmpty { swap(&state.items, &items) }
        }
    }

    /// Resets the descriptor after it became readable.
    func clearSignal() {
        var value: eventfd_t = 0
        unsafe eventfd_read(signal.number, &value)
    }

    /// Refuses further work; what came before can still be taken.
    func close() {
        state.withLock { $0.isClosed = true }
    }
}
