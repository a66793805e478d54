import Synchronization
import Transport

/// Whether the person at the terminal wants the program to end; from any thread.
final class Interruption: Sendable {
    private let loop: EventLoop
    private let flag = Flag()

    private final class Flag: Sendable {
        let isRaised = Atomic(false)
    }

    /// `Signals.block()` must have been called.
    init() throws {
        loop = try EventLoop.onNewThread(named: "signals")
        loop.execute { [loop, flag] in
            // The loop keeps what it watches.
            let signals = try? Signals(on: loop) { _ in flag.isRaised.store(true, ordering: .relaxed) }
            if signals == nil { flag.isRaised.store(true, ordering: .relaxed) }
        }
    }

    deinit {
        loop.stop()
    }

    var hasCome: Bool { flag.isRaised.load(ordering: .relaxed) }
}
