import Glibc

extension ByteStream {
    /// A stream that a listener accepted; `begin` follows at once.
    convenience init(accepted: consuming Descriptor, from endpoint: Endpoint, on loop: EventLoop) {
        self.init(endpoint: endpoint, phase: .handshaking, handler: AbsentHandler.shared, on: loop)
        descriptor = consume accepted
    }

    /// Starts TLS if there is a context, else reports the connection.
    func begin(_ handler: any ByteStreamHandler, tls: TLSServerContext?, deadline: Duration) {
        self.handler = handler
        // Closed by the one who gave the handler: only the end is left to tell, and that is planned already.
        guard phase == .handshaking else { return }
        setDeadline(deadline, "the peer of \(self.endpoint) did not finish the TLS handshake within \(deadline)")
        beginSession(tls?.context, serverName: nil)
    }

    func connectorEnded(_ result: Result<Int32, TransportError>, tls: TLSClientContext?, serverName: String?) {
        connector = nil
        switch result {
        case .failure(let error):
            finish(error)
        case .success(let number):
            descriptor = Descriptor(number)
            phase = .handshaking
            beginSession(tls?.context, serverName: serverName ?? endpoint.hostName ?? "")
        }
    }

    private func beginSession(_ context: TLSContext?, serverName: String?) {
        guard let number = descriptor?.number else { return }
        do {
            interest = wantedInterest
            token = try loop.poller.add(number, interest, self)
            guard let context else { return becomeOpen() }
            tls = try TLSSession(context, socket: number, serverName: serverName)
        } catch {
            return finish(error)
        }
        continueHandshake()
    }

    func continueHandshake() {
        guard let tls else { return }
        switch tls.handshake() {
        case .done:
            negotiatedProtocol = tls.negotiatedProtocol
            isOutputBlocked = false
            becomeOpen()
        case .wantsInput:
            isOutputBlocked = false
            updateInterest()
        case .wantsOutput:
            isOutputBlocked = true
            updateInterest()
        case .failed(let error):
            finish(error)
        }
    }

    private func becomeOpen() {
        phase = .open
        deadlineTimer?.cancel()
        deadlineTimer = nil
        updateInterest()
        if !output.isEmpty { planFlush() }
        // The first bytes may have come with the end of the handshake.
        if tls?.hasPendingInput == true { planRead() }
        handler.byteStreamConnected(self)
    }

    func setDeadline(_ duration: Duration, _ text: @autoclosure @escaping () -> String) {
        deadlineTimer?.cancel()
        // Held strongly, as by the poller, until it fires or is cancelled: a weak reference would make every later
        // reference to the stream take the slow way.
        deadlineTimer = loop.schedule(after: duration) { self.finish(.deadline(text())) }
    }

    /// Closes because of the peer, the network or a deadline.
    func finish(_ error: TransportError?) {
        guard phase != .closed else { return }
        release()
        reportClosed(error)
    }

    /// Gives back the socket and everything that could call this stream.
    func release() {
        // After a failure there is nothing to say to the peer; a full socket takes no more.
        if phase == .open, deferredFailure == nil, !hasEndedOutput { tls?.sendClose() }
        phase = .closed
        connector?.cancel()
        connector = nil
        deadlineTimer?.cancel()
        deadlineTimer = nil
        if let number = descriptor?.number, let token { loop.poller.remove(number, token) }
        token = nil
        tls = nil
        descriptor = nil
        unsentBytes = output.count
        output.removeAll()
    }

    func loopEnded() {
        release()
        handler = AbsentHandler.shared
    }

    func reportClosed(_ error: TransportError?) {
        let handler = self.handler
        self.handler = AbsentHandler.shared
        handler.byteStreamClosed(self, error: error)
    }
}
