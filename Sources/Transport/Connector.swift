import CLinux
import Glibc

/// Makes one connected socket: resolves the name, tries the addresses, and asks a proxy for a tunnel if there is one.
///
/// The addresses are tried in turn, each a moment after the one before or as soon as that has failed, and the first
/// that answers is taken (Happy Eyeballs, RFC 8305): an address that is dead costs a moment only. Confined to its loop.
final class Connector {
    /// The moment that an address has before the next one is tried as well (RFC 8305 section 8).
    static let longestStagger = Duration.milliseconds(250)

    /// Where the stream shall lead to, and where the socket is connected to.
    private let endpoint: Endpoint
    private let proxy: HTTPProxy?
    private let loop: EventLoop
    private let deadline: Duration
    /// Told once, unless cancelled; on success the descriptor passes to the one who is told.
    private var report: ((Result<Int32, TransportError>) -> Void)?

    private var waiting: [SocketAddress] = []
    private var stagger = Connector.longestStagger
    private var attempts: [ConnectAttempt] = []
    private var staggerTimer: LoopTimer?
    private var lastReason = "it has no address"
    private var tunnel: ProxyTunnel?

    /// The deadline is not kept here: it only divides the time among the addresses.
    init(
        endpoint: Endpoint,
        through proxy: HTTPProxy? = nil,
        deadline: Duration,
        on loop: EventLoop,
        report: @escaping (Result<Int32, TransportError>) -> Void
    ) {
        self.endpoint = endpoint
        self.proxy = proxy
        self.loop = loop
        self.deadline = deadline
        self.report = report
    }

    /// Reports in a later step of the loop, never from within.
    func start() {
        switch proxy?.endpoint ?? endpoint {
        case .unix(let path):
            do {
                let address = try SocketAddress(unixPath: path)
                loop.atEndOfTurn { self.begin([address]) }
            } catch {
                loop.atEndOfTurn { self.finish(.failure(error)) }
            }
        case .tcp(let host, let port):
            Resolver.resolve(host: host, port: port, on: loop) { result in
                switch result {
                case .success(let addresses): self.begin(addresses)
                case .failure(let error): self.finish(.failure(error))
                }
            }
        }
    }

    func cancel() {
        report = nil
        endAttempts()
        tunnel?.cancel()
        tunnel = nil
    }

    /// Tries these addresses; not from within `start`.
    func begin(_ addresses: [SocketAddress]) {
        guard report != nil else { return }
        waiting = Self.alternating(addresses)
        // Many addresses must all have had their turn well before the deadline.
        stagger = min(Self.longestStagger, deadline / 2 / max(addresses.count, 1))
        tryNext()
    }

    /// The addresses in their order of preference, but the two families by turns (RFC 8305 section 4): if one family
    /// does not work here, that is noticed after the first address.
    static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        var preferred = addresses.filter { $0.family == first.family }[...]
        var others = addresses.filter { $0.family != first.family }[...]
        var ordered: [SocketAddress] = []
        while let address = preferred.popFirst() {
            ordered.append(address)
            if let other = others.popFirst() { ordered.append(other) }
        }
        return ordered + others
    }

    private func tryNext() {
        staggerTimer?.cancel()
        staggerTimer = nil
        while report != nil, !waiting.isEmpty {
            let attempt = ConnectAttempt(on: loop) { self.ended($0, $1) }
            do {
                try attempt.start(waiting.removeFirst())
            } catch {
                if case .system(_, let code) = error { lastReason = systemErrorText(code) }
                continue
            }
            // It may have succeeded at once, and ended everything.
            guard report != nil, tunnel == nil else { return }
            attempts.append(attempt)
            if !waiting.isEmpty { staggerTimer = loop.schedule(after: stagger) { self.tryNext() } }
            return
        }
        guard attempts.isEmpty else { return }
        finish(.failure(failure(lastReason)))
    }

    private func ended(_ attempt: ConnectAttempt, _ result: Result<Int32, TransportError>) {
        attempts.removeAll { $0 === attempt }
        switch result {
        case .success(let number):
            endAttempts()
            connected(number)
        case .failure(let error):
            if case .system(_, let code) = error { lastReason = systemErrorText(code) }
            // The next one need not wait, and without one the others go on.
            if !waiting.isEmpty || attempts.isEmpty { tryNext() }
        }
    }

    private func connected(_ number: Int32) {
        guard report != nil else {
            close(number)
            return
        }
        guard let proxy else { return finish(.success(number)) }
        let tunnel = ProxyTunnel(Descriptor(number), to: endpoint, through: proxy, on: loop) { result in
            self.tunnel = nil
            self.finish(result)
        }
        self.tunnel = tunnel
        tunnel.start()
    }

    private func failure(_ reason: String) -> TransportError {
        let text = proxy.map { "\($0): \(reason)" } ?? reason
        return .connect(endpoint: endpoint, reason: text)
    }

    private func endAttempts() {
        staggerTimer?.cancel()
        staggerTimer = nil
        waiting = []
        for attempt in attempts { attempt.cancel() }
        attempts = []
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

/// A socket that is being connected to one address; confined to its loop.
final class ConnectAttempt: DescriptorWatcher {
    private let loop: EventLoop
    /// Told once, unless cancelled; on success the descriptor passes to the one who is told.
    private var report: ((ConnectAttempt, Result<Int32, TransportError>) -> Void)?
    private var descriptor: Descriptor?
    private var token: Poller.Token?

    init(on loop: EventLoop, report: @escaping (ConnectAttempt, Result<Int32, TransportError>) -> Void) {
        self.loop = loop
        self.report = report
    }

    /// May report success from within; throws what fails at once.
    func start(_ address: SocketAddress) throws(TransportError) {
        let socket = try Socket.make(family: address.family)
        let number = socket.number
        descriptor = consume socket
        Socket.tune(number, family: address.family)
        let result = unsafe address.withPointer { unsafe connect(number, $0, $1) }
        if result == 0 { return finish(nil) }
        // A unix socket whose queue is full says EAGAIN; there is nothing to wait for. EINTR: it goes on by itself.
        guard errno == EINPROGRESS || errno == EINTR else { throw .system(call: "connect", code: errno) }
        token = try loop.poller.add(number, .output, self)
    }

    func cancel() {
        report = nil
        stopWatching()
        descriptor = nil
    }

    func descriptorReady(_ events: PollEvents) {
        guard let number = descriptor?.number else { return }
        let code = Socket.pendingError(number)
        finish(code == 0 ? nil : .system(call: "connect", code: code))
    }

    func loopEnded() {
        cancel()
    }

    private func finish(_ error: TransportError?) {
        stopWatching()
        let report = self.report
        self.report = nil
        guard let report, let number = descriptor?.number else { return }
        if let error {
            descriptor = nil
            report(self, .failure(error))
        } else {
            // The number passes on, so it must not be closed here.
            descriptor.take()?.relinquish()
            report(self, .success(number))
        }
    }

    private func stopWatching() {
        guard let number = descriptor?.number, let token else { return }
        loop.poller.remove(number, token)
        self.token = nil
    }
}
