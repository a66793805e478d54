package import Transport

/// What a server connection tells its owner; all calls are on its loop.
package protocol HTTP2ServerConnectionHandler: AnyObject {
    /// The connection stands; before any request on it. One whose TLS handshake fails is only closed.
    func connectionOpened(_ connection: HTTP2ServerConnection)
    /// A request is complete; only on connections that keep requests.
    func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest)
    /// A request is complete; only on connections that do not keep requests.
    func connection(_ connection: HTTP2ServerConnection, receivedOn streamID: Int32)
    /// The last call, exactly once.
    func connectionClosed(_ connection: HTTP2ServerConnection)
}

extension HTTP2ServerConnectionHandler {
    package func connectionOpened(_ connection: HTTP2ServerConnection) {}
    package func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest) {}
    package func connection(_ connection: HTTP2ServerConnection, receivedOn streamID: Int32) {}
    package func connectionClosed(_ connection: HTTP2ServerConnection) {}
}

/// How a server treats its connections.
package struct HTTP2ServerOptions: Sendable {
    package var settings: HTTP2Settings
    /// Whether requests are handed over with headers and body; without, only their streams' numbers.
    package var keepsRequests: Bool
    /// Everything that the server writes is held back so long: answers, SETTINGS, credit.
    package var outputDelay: Duration = .zero
    /// The first output, with the SETTINGS, is held back so long.
    package var settingsDelay: Duration = .zero
    /// PINGs get no answer.
    package var ignoresPings = false
    /// Connections are closed as soon as they come.
    package var refusesConnections = false

    package init(settings: HTTP2Settings, keepsRequests: Bool) {
        self.settings = settings
        self.keepsRequests = keepsRequests
    }
}

/// The server side of one connection: a session on a byte stream; confined to the stream's loop.
///
/// The stream keeps it alive while it is open.
package final class HTTP2ServerConnection: ByteStreamHandler, HTTP2ServerSessionHandler {
    /// For the owner's own use, to tell connections apart.
    package var identifier = 0
    /// For the owner's own use: what it remembers of the connection.
    package var companion: AnyObject?
    /// Cleared with the last call to it.
    package private(set) var handler: (any HTTP2ServerConnectionHandler)?

    private let stream: ByteStream
    private let options: HTTP2ServerOptions
    private var session: HTTP2ServerSession?
    private var isFlushPlanned = false
    /// Nothing is written yet.
    private var isHeld = false
    /// Nothing is written any more.
    private var isSilent = false
    private var delayed = DelayedOutput()

    package init(
        on stream: ByteStream,
        options: HTTP2ServerOptions,
        handler: any HTTP2ServerConnectionHandler
    ) throws(HTTP2Error) {
        self.stream = stream
        self.options = options
        self.handler = handler
        session = try HTTP2ServerSession(
            settings: options.settings,
            keepsRequests: options.keepsRequests,
            ignoresPings: options.ignoresPings,
            handler: self
        )
        isHeld = options.settingsDelay > .zero
        if isHeld { stream.loop.schedule(after: options.settingsDelay) { self.release() } } else { planFlush() }
    }

    /// What the client's certificate says; nil when it showed none, and before the connection stands.
    package var peerCertificate: CertificateFacts? { stream.peerCertificate }

    /// Streams whose request has begun and whose answer is not out.
    package var openCount: Int { session?.openCount ?? 0 }
    /// The limit that the peer was told last; to enforce it is the owner's.
    package var announcedStreamLimit: UInt32? { session?.announcedStreamLimit }

    /// Answers a request; ignored if its stream is gone.
    package func respond(_ streamID: Int32, with template: HTTP2ResponseTemplate) {
        session?.respond(streamID, with: template)
        planFlush()
    }

    /// Answers a request; ignored if its stream is gone.
    ///
    /// Throws `HTTP2Error.header` for what HTTP/2 cannot carry.
    package func respond(
        _ streamID: Int32,
        status: Int,
        headers: [HTTP2HeaderField] = [],
        body: [UInt8] = []
    ) throws(HTTP2Error) {
        try session?.respond(streamID, status: status, headers: headers, body: body)
        planFlush()
    }

    /// Ends a stream with an error code, `refusedStream` for "not processed".
    package func reset(_ streamID: Int32, _ code: HTTP2ErrorCode) {
        session?.reset(streamID, code)
        planFlush()
    }

    /// Announces another limit of streams.
    package func setMaximumConcurrentStreams(_ count: UInt32) {
        session?.setMaximumConcurrentStreams(count)
        planFlush()
    }

    /// GOAWAY; no last stream given stands for the newest that has come.
    package func goAway(_ code: HTTP2ErrorCode, lastStreamID: Int32? = nil, debugData: [UInt8] = []) {
        session?.goAway(code, lastStreamID: lastStreamID, debugData: debugData)
        planFlush()
    }

    /// Sends what waits and ends the connection.
    package func close() {
        flush()
        endStream()
    }

    /// Ends the connection without a word of HTTP/2.
    package func drop() { stream.close() }

    /// Ends the connection by a TCP reset.
    package func abort() { stream.abort() }

    /// Reads no more and writes nothing, as if the network had gone.
    package func goSilent() {
        isSilent = true
        delayed.cancel()
        stream.pauseReading()
    }

    package func byteStreamConnected(_ stream: ByteStream) {
        handler?.connectionOpened(self)
    }

    package func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        do {
            try session?.receive(bytes)
        } catch {
            // The peer broke the protocol beyond what GOAWAY can say.
            stream.close()
            return
        }
        planFlush()
    }

    package func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        delayed.cancel()
        session?.handler = nil
        session = nil
        let last = handler
        handler = nil
        last?.connectionClosed(self)
        companion = nil
    }

    package func session(_ session: HTTP2ServerSession, received request: HTTP2ServerRequest) {
        handler?.connection(self, received: request)
    }

    package func session(_ session: HTTP2ServerSession, receivedOn streamID: Int32) {
        handler?.connection(self, receivedOn: streamID)
    }

    /// The SETTINGS may go out, and what has gathered behind them.
    private func release() {
        guard session != nil, !isSilent else { return }
        isHeld = false
        flush()
    }

    private func planFlush() {
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        stream.loop.atEndOfTurn { self.flush() }
    }

    private func flush() {
        isFlushPlanned = false
        guard let session, !isHeld, !isSilent else { return }
        do {
            if options.outputDelay > .zero {
                try session.drain { delayed.append($0) }
                delayed.release(to: stream, after: options.outputDelay)
            } else {
                try session.drain { stream.write($0) }
            }
        } catch {
            stream.close()
            return
        }
        if session.isFinished { endStream() }
    }

    /// Ends the stream once all output, also what is held back, was written.
    private func endStream() {
        guard options.outputDelay > .zero else { return stream.closeAfterFlush(deadline: .seconds(1)) }
        stream.loop.schedule(after: options.outputDelay) { [stream] in
            stream.closeAfterFlush(deadline: .seconds(1))
        }
    }
}

/// Output that is held back, to act like a peer that is far away.
private struct DelayedOutput {
    private var bytes: [UInt8] = []
    private var timers: [LoopTimer] = []

    mutating func append(_ frame: RawSpan) {
        bytes += frame.copiedBytes
    }

    /// Writes what was appended since the last call, later.
    mutating func release(to stream: ByteStream, after delay: Duration) {
        guard !bytes.isEmpty else { return }
        let chunk = bytes
        bytes = []
        timers.removeAll { !$0.isPending }
        timers.append(stream.loop.schedule(after: delay) { stream.write(chunk) })
    }

    mutating func cancel() {
        for timer in timers { timer.cancel() }
        timers = []
    }
}
