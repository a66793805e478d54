import Glibc

/// Asks an HTTP proxy for a tunnel over a connected socket (CONNECT, RFC 9110 section 9.3.6); confined to its loop.
///
/// Without a deadline of its own: whoever made it cancels it.
final class ProxyTunnel: DescriptorWatcher {
    // Far beyond what any proxy sends.
    private static let maximumAnswerBytes = 16_384

    private let target: Endpoint
    private let proxy: HTTPProxy
    private let loop: EventLoop
    /// Told once, unless cancelled; on success the descriptor passes to the one who is told.
    private var report: ((Result<Int32, TransportError>) -> Void)?
    private var descriptor: Descriptor?
    private var token: Poller.Token?
    private var unsent: [UInt8]
    private var answer: [UInt8] = []

    init(
        _ socket: consuming Descriptor,
        to target: Endpoint,
        through proxy: HTTPProxy,
        on loop: EventLoop,
        report: @escaping (Result<Int32, TransportError>) -> Void
    ) {
        descriptor = consume socket
        self.target = target
        self.proxy = proxy
        self.loop = loop
        self.report = report
        unsent = proxy.connectRequest(to: target)
    }

    /// Reports in a later step of the loop.
    func start() {
        guard let number = descriptor?.number else { return }
        do {
            token = try loop.poller.add(number, .output, self)
        } catch {
            loop.atEndOfTurn { self.fail(error) }
        }
    }

    func cancel() {
        report = nil
        stopWatching()
        descriptor = nil
    }

    func loopEnded() {
        cancel()
    }

    func descriptorReady(_ events: PollEvents) {
        guard let number = descriptor?.number else { return }
        if !unsent.isEmpty { send(to: number) } else { read(from: number) }
    }

    private func send(to number: Int32) {
        let count = unsafe unsent.withUnsafeBytes { bytes in
            retryingInterrupts { unsafe Glibc.send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
        }
        guard count >= 0 else {
            if errno != EAGAIN { fail(.system(call: "send", code: errno)) }
            return
        }
        unsent.removeFirst(count)
        guard unsent.isEmpty, let token else { return }
        do {
            try loop.poller.change(number, [.input, .peerEnded], token)
        } catch {
            fail(error)
        }
    }

    /// Reads the answer's head, and not a byte of what comes after it.
    private func read(from number: Int32) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let peeked = unsafe buffer.withUnsafeMutableBytes { bytes in
            retryingInterrupts { unsafe recv(number, bytes.baseAddress, bytes.count, Int32(MSG_PEEK)) }
        }
        guard peeked >= 0 else {
            if errno != EAGAIN { fail(.system(call: "recv", code: errno)) }
            return
        }
        guard peeked > 0 else { return refuse("it ended the connection") }
        let known = answer.count
        answer += buffer.prefix(peeked)
        let end = HTTPProxy.endOfHead(in: answer, from: known)
        let count = (end ?? answer.count) - known
        let taken = unsafe buffer.withUnsafeMutableBytes { bytes in
            retryingInterrupts { unsafe recv(number, bytes.baseAddress, count, 0) }
        }
        guard taken == count else { return refuse("its answer changed while it was read") }
        if end != nil {
            judge()
        } else if answer.count > Self.maximumAnswerBytes {
            refuse("its answer has no end")
        }
    }

    private func judge() {
        if let problem = HTTPProxy.problem(ofAnswer: answer) { return refuse(problem) }
        stopWatching()
        let report = self.report
        self.report = nil
        guard let report, let number = descriptor?.number else { return }
        descriptor.take()?.relinquish()
        report(.success(number))
    }

    private func refuse(_ problem: String) {
        fail(.connect(endpoint: target, reason: "\(proxy): \(problem)"))
    }

    private func fail(_ error: TransportError) {
        stopWatching()
        descriptor = nil
        let report = self.report
        self.report = nil
        report?(.failure(error))
    }

    private func stopWatching() {
        guard let number = descriptor?.number, let token else { return }
        loop.poller.remove(number, token)
        self.token = nil
    }
}
