import Glibc

/// A connection that carries bytes both ways: TCP or a unix socket, each with or without TLS.
///
/// Confined to its loop, which keeps it alive while it is open. It holds its handler until it has closed. Output is
/// appended and sent once at the end of the turn; what is written before the connection stands is sent then.
/// A handler may close the stream, or replace itself, within any of its calls.
package final class ByteStream: DescriptorWatcher {
    enum Phase {
        case connecting
        case handshaking
        case open
        /// `closeAfterFlush`: sends what waits, ends our direction, then waits for the peer's end.
        case finishing
        case closed
    }

    package let endpoint: Endpoint
    package let loop: EventLoop
    package var handler: any ByteStreamHandler
    /// Over this many waiting bytes the owner should stop writing; see `byteStreamDrained`.
    package var highWaterBytes = 262_144
    package var lowWaterBytes = 65_536
    /// Output that is older than this when it could go out is dropped with the stream: the loop stood still within the
    /// turn that wrote it, or it waited so long for the peer, which took nothing.
    ///
    /// For peers that must not hear what a process had in mind before it was stopped.
    package var staleness: Duration?
    /// Since when the system has taken nothing of what waits.
    var blockedSince: LoopInstant?
    /// What ALPN agreed on.
    package internal(set) var negotiatedProtocol: String?

    /// After the end: how many of the written bytes the system never took.
    package internal(set) var unsentBytes = 0

    // Output that grows beyond this within one turn is sent at once, while it is in the cache.
    private static let earlyFlushBytes = 131_072

    var phase: Phase
    var descriptor: Descriptor?
    var token: Poller.Token?
    var interest: PollEvents = []
    var tls: TLSSession?
    var connector: Connector?
    var deadlineTimer: LoopTimer?

    var output = OutputBuffer()
    var isFlushPlanned = false
    var isOutputBlocked = false
    var isOverHighWater = false
    var hasEndedOutput = false
    var isReadingPaused = false
    var isReadPlanned = false
    /// TLS must write before it can go on reading.
    var inputWantsOutput = false
    /// A failure within a call of the owner, told at the end of the turn.
    var deferredFailure: TransportError?

    init(endpoint: Endpoint, phase: Phase, handler: any ByteStreamHandler, on loop: EventLoop) {
        self.endpoint = endpoint
        self.phase = phase
        self.handler = handler
        self.loop = loop
    }

    /// Begins to connect; loop only.
    ///
    /// The deadline covers name resolution, all addresses and TLS.
    ///
    /// `serverName` is what the certificate must carry, the endpoint's host if nil. With a proxy the host's name is
    /// resolved there.
    package static func connect(
        to endpoint: Endpoint,
        through proxy: HTTPProxy? = nil,
        tls: TLSClientContext? = nil,
        serverName: String? = nil,
        deadline: Duration = .seconds(10),
        on loop: EventLoop,
        handler: any ByteStreamHandler
    ) -> ByteStream {
        loop.preconditionOnLoop()
        let stream = ByteStream(endpoint: endpoint, phase: .connecting, handler: handler, on: loop)
        stream.setDeadline(deadline, "connecting to \(endpoint) took longer than \(deadline)")
        let connector = Connector(endpoint: endpoint, through: proxy, deadline: deadline, on: loop) { result in
            stream.connectorEnded(result, tls: tls, serverName: serverName)
        }
        stream.connector = connector
        connector.start()
        return stream
    }

    /// What the peer's certificate says; nil without TLS, before its handshake, and when the peer showed none.
    package var peerCertificate: CertificateFacts? { tls?.peerCertificate }

    /// Bytes that were written and not yet taken by the system.
    package var pendingOutputBytes: Int { output.count }

    /// Appends output; ignored after the stream was closed.
    package func write(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe write($0) }
    }

    /// Appends output; ignored after the stream was closed.
    package func write(_ bytes: UnsafeRawBufferPointer) {
        guard takesOutput else { return }
        unsafe output.append(bytes)
        outputWasAppended()
    }

    /// Appends output; ignored after the stream was closed.
    package func write(_ bytes: [UInt8]) {
        guard takesOutput else { return }
        output.append(bytes)
        outputWasAppended()
    }

    /// Ends the stream now; waiting output is dropped.
    ///
    /// `byteStreamClosed` comes at the end of the turn.
    package func close() {
        guard phase != .closed else { return }
        release()
        loop.atEndOfTurn { self.reportClosed(nil) }
    }

    /// Ends the stream now without a word, by a TCP reset.
    package func abort() {
        if let number = descriptor?.number { Socket.resetOnClose(number) }
        hasEndedOutput = true
        close()
    }

    /// Sends what waits, ends our direction, and closes when the peer has ended its own.
    ///
    /// Input is dropped meanwhile.
    package func closeAfterFlush(deadline: Duration) {
        switch phase {
        case .closed, .finishing: return
        case .connecting, .handshaking: close()
        case .open:
            phase = .finishing
            isReadingPaused = false
            setDeadline(deadline, "the peer of \(self.endpoint) did not end the connection within \(deadline)")
            updateInterest()
            planRead()
            planFlush()
        }
    }

    /// No more `received` until `resumeReading()`; the peer is slowed down by TCP.
    package func pauseReading() {
        guard !isReadingPaused, phase != .finishing else { return }
        isReadingPaused = true
        updateInterest()
    }

    package func resumeReading() {
        guard isReadingPaused else { return }
        isReadingPaused = false
        updateInterest()
        planRead()
    }

    private var takesOutput: Bool {
        phase != .closed && phase != .finishing && deferredFailure == nil
    }

    private func outputWasAppended() {
        if output.count > highWaterBytes { isOverHighWater = true }
        guard phase == .open, !isOutputBlocked else { return }
        if output.count >= Self.earlyFlushBytes, let failure = send() { deferredFailure = failure }
        planFlush()
    }
}
