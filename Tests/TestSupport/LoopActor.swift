package import Transport

/// An actor that lives on an event loop and counts: shows that a loop is an executor.
package actor LoopActor {
    private let loop: EventLoop
    package private(set) var value = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop.asUnownedSerialExecutor()
    }

    package init(loop: EventLoop) {
        self.loop = loop
    }

    package func increment() -> Int {
        loop.preconditionOnLoop()
        value += 1
        return value
    }
}
