import CLinux
import Glibc

/// Hands the signals that end or reload a program to a loop; confined to that loop.
///
/// `block()` must come before any thread starts, so that all threads inherit the mask. Reading from a descriptor also
/// works if a parent started us with these signals blocked. Child processes get the default mask (`ChildProcess`).
package final class Signals: DescriptorWatcher {
    package enum Signal: Equatable, Sendable {
        /// SIGTERM.
        case terminate
        /// SIGINT, Ctrl-C.
        case interrupt
        /// SIGHUP.
        case hangUp
    }

    private static let numbers: [(number: Int32, signal: Signal)] = [
        (SIGTERM, .terminate), (SIGINT, .interrupt), (SIGHUP, .hangUp),
    ]

    private let loop: EventLoop
    private let handler: (Signal) -> Void
    private var descriptor: Descriptor?
    private var token: Poller.Token?

    /// Blocks the signals for the calling thread and those that it starts; SIGPIPE is ignored.
    package static func block() {
        var set = mask()
        _ = unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls the handler on the loop at each signal until `close()`; loop only.
    package init(on loop: EventLoop, handler: @escaping (Signal) -> Void) throws(TransportError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
        var set = Self.mask()
        let number = unsafe signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        guard number >= 0 else { throw .system(call: "signalfd", code: errno) }
        descriptor = Descriptor(number)
        token = try loop.poller.add(number, .input, self)
    }

    package func close() {
        loop.preconditionOnLoop()
        guard let number = descriptor?.number else { return }
        if let token { loop.poller.remove(number, token) }
        descriptor = nil
    }

    func descriptorReady(_ events: PollEvents) {
        while let number = descriptor?.number {
            var information = signalfd_siginfo()
            let size = MemoryLayout<signalfd_siginfo>.size
            let count = retryingInterrupts { unsafe Glibc.read(number, &information, size) }
            guard count == size else { return }
            guard let entry = Self.numbers.first(where: { UInt32($0.number) == information.ssi_signo }) else {
                continue
            }
            handler(entry.signal)
        }
    }

    func loopEnded() {
        descriptor = nil
    }

    private static func mask() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for (number, _) in numbers { unsafe sigaddset(&set, number) }
        return set
    }
}
