import CLinux
import Glibc

/// One attempt to connect a socket: resolves the name, then tries the addresses in turn.
///
/// Confined to its loop.
final class Connector: DescriptorWatcher {
    private let endpoint: Endpoint
    private let loop: EventLoop
    private let end: LoopInstant
    /// Told once, unless cancelled; on success the descriptor passes to the one who is told.
    private var report: ((Result<Int32, TransportError>) -> Void)?

    private var addresses: [SocketAddress] = []
    private var lastReason = "it has no address"
    private var attempt: Descriptor?
    private var token: Poller.Token?
    private var attemptTimer: LoopTimer?

    /// The deadline is not kept here: it only divides the time among the addresses.
    init(
        endpoint: Endpoint,
        deadline: Duration,
        on loop: EventLoop,
        report: @escaping (Result<Int32, TransportError>) -> Void
    ) {
        self.endpoint = endpoint
        self.loop = loop
        self.report = report
        end = loop.now + deadline
    }

    /// Reports in a later step of the loop, never from within.
    func start() {
        switch endpoint {
        case .unix(let path):
            do {
                addresses = [try SocketAddress(unixPath: path)]
                loop.atEndOfTurn { self.tryNext() }
            } catch {
                loop.atEndOfTurn { self.finish(.failure(error)) }
            }
        case .tcp(let host, let port):
            Resolver.resolve(host: host, port: port, on: loop) { result in
                switch result {
                case .success(let addresses):
                    self.addresses = addresses
                    self.tryNext()
                case .failure(let error):
                    self.finish(.failure(error))
                }
            }
        }
    }

    func cancel() {
        report = nil
        endAttempt()
    }

    func descriptorReady(_ events: PollEvents) {
        guard let number = attempt?.number else { return }
        let code = Socket.pendingError(number)
        if code == 0 { succeed() } else { tryNext(after: systemErrorText(code)) }
    }

    func loopEnded() {
        cancel()
    }

    private func tryNext(after reason: String? = nil) {
        endAttempt()
        if let reason { lastReason = reason }
        guard report != nil else { return }
        while !addresses.isEmpty {
            let remaining = addresses.count
            do {
                return try begin(addresses.removeFirst(), share: remaining)
            } catch {
                endAttempt()
                if case .system(_, let code) = error { lastReason = systemErrorText(code) }
            }
        }
        finish(.failure(.connect(endpoint: endpoint, reason: lastReason)))
    }

    private func begin(_ address: SocketAddress, share: Int) throws(TransportError) {
        let socket = try Socket.make(family: address.family)
        let number = socket.number
        attempt = consume socket
        Socket.tune(number, family: address.family)
        let result = unsafe address.withPointer { unsafe connect(number, $0, $1) }
        if result == 0 { return succeed() }
        // A unix socket whose queue is full says EAGAIN; there is nothing to wait for. EINTR: it goes on by itself.
        guard errno == EINPROGRESS || errno == EINTR else { throw .system(call: "connect", code: errno) }
        token = try loop.poller.add(number, .output, self)
        guard share > 1 else { return }
        // A silent address must leave time for the ones after it.
        attemptTimer = loop.schedule(after: (end - loop.now) / share) {
            self.tryNext(after: "no answer")
        }
    }

    private func succeed() {
        guard let number = attempt?.number else { return }
        // The number passes on, so it must not be closed here.
        stopWatching()
        attempt.take()?.relinquish()
        finish(.success(number))
    }

    private func endAttempt() {
        stopWatching()
        attempt = nil
    }

    private func stopWatching() {
        attemptTimer?.cancel()
        attemptTimer = nil
        guard let number = attempt?.number, let token else { return }
        loop.poller.remove(number, token)
        self.token = nil
    }

    private func finish(_ result: Result<Int32, TransportError>) {
        let report = self.report
        self.report = nil
        guard let report else {
            // Cancelled: nobody takes the descriptor.
            if case .success(let number) = result { close(number) }
            return
        }
        report(result)
    }
}
