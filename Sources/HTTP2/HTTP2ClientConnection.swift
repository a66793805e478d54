import Transport

/// One connection of a pool: a client session on a byte stream, with its deadlines; confined to the pool's loop.
///
/// The stream keeps it alive while it is open.
final class HTTP2ClientConnection {
    enum Phase {
        case connecting
        /// TLS stands, the peer's SETTINGS have not come.
        case settling
        case ready
        /// Takes no more requests; ends when those that are open have their answers.
        case leaving
        case ended
    }

    let identifier: Int
    private(set) var phase = Phase.connecting
    private(set) var lastUse: LoopInstant
    /// Whether it ever took requests.
    private(set) var wasReady = false
    private(set) var isDismissed = false
    /// With requests open nothing has come for a while: it takes no more until something does.
    private(set) var isSilent = false

    private let loop: EventLoop
    private let options: HTTP2Options
    private let isEncrypted: Bool
    /// Cleared with the last call to it.
    private var pool: HTTP2Pool?
    private var stream: ByteStream?
    private var session: HTTP2ClientSession?
    private var isProductive = false
    private var isProven = false
    private var isFlushPlanned = false
    private var lastReceipt: LoopInstant
    private var pingSent: LoopInstant?
    private var timer: LoopTimer?
    private var endReason: String?

    init(_ identifier: Int, to endpoint: Endpoint, tls: TLSClientContext?, pool: HTTP2Pool) throws(HTTP2Error) {
        self.identifier = identifier
        self.pool = pool
        loop = pool.loop
        options = pool.options
        isEncrypted = tls != nil
        lastUse = loop.now
        lastReceipt = loop.now
        let session = try HTTP2ClientSession(handler: self)
        session.keepsAllHeaders = options.keepsAllHeaders
        session.streamLimit = min(options.unprovenStreamLimit ?? .max, options.streamLimit)
        self.session = session
        stream = .connect(
            to: endpoint,
            through: options.proxy,
            tls: tls,
            deadline: options.connectDeadline,
            on: loop,
            handler: self
        )
        stream?.staleness = options.staleness
        planFlush()
    }

    var openCount: Int { session?.openCount ?? 0 }

    /// How many requests with bodies of that size can be submitted now.
    func room(forBodiesOf bodyCount: Int) -> Int {
        guard takesRequests, let session else { return 0 }
        let streams = max(0, session.allowedStreams - session.openCount)
        return bodyCount > 0 ? min(streams, (session.availableWindow + bodyCount - 1) / bodyCount) : streams
    }

    /// Whether there is room for a request, of its body at least for the first bytes.
    func canSubmit(bodyCount: Int, sparing spared: Int = 0) -> Bool {
        takesRequests && session?.canSubmit(bodyCount: bodyCount, sparing: spared) == true
    }

    /// Whether a whole body fits into the send window now.
    func fits(bodyCount: Int) -> Bool { session?.fits(bodyCount: bodyCount) == true }

    /// Streams that may be open now.
    var allowedStreams: Int { phase == .ready && !isSilent ? session?.allowedStreams ?? 0 : 0 }

    /// Submits a request if there is room for it.
    func submit(_ request: borrowing HTTP2Request, tag: Int, sparing spared: Int) -> Bool {
        guard takesRequests, let session else { return false }
        guard session.submit(request, tag: tag, sparing: spared, now: loop.now) else {
            if session.goAway != nil { leave() }
            return false
        }
        lastUse = loop.now
        if session.openCount == 1 { planCheck() }
        planFlush()
        return true
    }

    /// Takes no more requests and closes when none is open.
    func leave() {
        guard phase == .ready || phase == .settling || phase == .connecting else { return }
        phase = .leaving
        pool?.connectionIsLeaving(self)
        finishIfDone()
    }

    /// Given up by us: takes no more requests and closes when none is open.
    func dismiss() {
        isDismissed = true
        leave()
    }

    /// Closes at once; open requests fail.
    func end(_ reason: String) {
        guard phase != .ended else { return }
        phase = .ended
        endReason = endReason ?? reason
        timer?.cancel()
        stream?.close()
    }

    private var takesRequests: Bool {
        guard phase == .ready, !isSilent, let stream else { return false }
        return stream.pendingOutputBytes <= stream.highWaterBytes
    }

    private func planFlush() {
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        loop.atEndOfTurn { self.flush() }
    }

    private func flush() {
        isFlushPlanned = false
        guard phase != .ended, let session, let stream else { return }
        do {
            try session.drain { stream.write($0) }
        } catch {
            return end("\(error)")
        }
        if session.isFinished { finish() }
    }

    private func finishIfDone() {
        guard phase == .leaving, let session, session.openCount == 0 else { return }
        session.sayGoodbye()
        // Not at once: this may be within a call of the session.
        planFlush()
    }

    /// Both sides are done: what is written goes out, then the connection ends.
    private func finish() {
        guard phase != .ended, let stream else { return }
        let text = session?.failureText
        endReason = endReason ?? text ?? "both sides were done"
        phase = .ended
        timer?.cancel()
        stream.closeAfterFlush(deadline: .seconds(1))
    }
}

// MARK: What the stream tells

extension HTTP2ClientConnection: ByteStreamHandler {
    func byteStreamConnected(_ stream: ByteStream) {
        guard phase != .ended else { return }
        if isEncrypted, stream.negotiatedProtocol != "h2" {
            return end("the server does not speak HTTP/2: it did not choose h2 in the TLS handshake")
        }
        lastReceipt = loop.now
        if phase == .connecting { phase = .settling }
        planCheck()
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        guard phase != .ended, let session else { return }
        lastReceipt = loop.now
        pingSent = nil
        // Before its first answer a connection that only answers PINGs is of no use.
        if isSilent, isProven || options.unprovenStreamLimit == nil { setSilent(false) }
        do {
            try session.receive(bytes)
        } catch {
            return end("\(error)")
        }
        if session.wantsToWrite { planFlush() }
        if session.isFinished { return flush() }
        finishIfDone()
        pool?.connectionProgressed(self)
    }

    func byteStreamDrained(_ stream: ByteStream) {
        pool?.connectionProgressed(self)
    }

    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        let reason =
            endReason ?? session?.failureText ?? error.map { "\($0)" } ?? "the peer closed the connection"
        phase = .ended
        timer?.cancel()
        session?.connectionLost(unsent: stream.unsentBytes, reason: reason)
        session?.handler = nil
        session = nil
        self.stream = nil
        let owner = pool
        pool = nil
        owner?.connectionEnded(self, reason: reason)
    }
}

// MARK: What the session tells

extension HTTP2ClientConnection: HTTP2ClientSessionHandler {
    func session(_ session: HTTP2ClientSession, request tag: Int, answered response: HTTP2Response) {
        if !isProductive || !isProven { learn(from: response) }
        pool?.connection(self, request: tag, answered: response)
    }

    func session(_ session: HTTP2ClientSession, request tag: Int, failed failure: HTTP2Failure) {
        pool?.connection(self, request: tag, failed: failure)
    }

    func sessionReceivedSettings(_ session: HTTP2ClientSession) {
        guard phase == .settling else { return }
        phase = .ready
        wasReady = true
        pool?.connectionIsReady(self, streams: session.allowedStreams)
    }

    func session(_ session: HTTP2ClientSession, received goAway: HTTP2GoAway) {
        pool?.connection(self, received: goAway)
        if phase != .ended { leave() }
    }

    private func learn(from response: HTTP2Response) {
        if isSilent { setSilent(false) }
        if !isProductive {
            isProductive = true
            pool?.connectionIsProductive(self)
        }
        // 403 and 429 may speak of the credential; any other answer means that it was accepted.
        guard response.status != 403, response.status != 429 else { return }
        isProven = true
        session?.streamLimit = options.streamLimit
        pool?.connectionIsProven(self)
    }
}

// MARK: Deadlines

extension HTTP2ClientConnection {
    /// Plans the next look at the deadlines; there is one timer, for the nearest of them.
    private func planCheck() {
        timer?.cancel()
        timer = nil
        guard let next = nextCheck else { return }
        // Cancelled at the end; not weak, since that would make each later use of this object dearer.
        timer = loop.schedule(after: next - loop.now) { self.check() }
    }

    private var nextCheck: LoopInstant? {
        var moments: [LoopInstant] = []
        if phase == .settling { moments.append(lastReceipt + options.settingsDeadline) }
        if let oldest = session?.oldestSubmission { moments.append(oldest + options.answerDeadline) }
        if !isSilent, let silentSince { moments.append(silentSince + options.silenceLimit) }
        if let pingSent {
            moments.append(pingSent + options.pingDeadline)
        } else if let nextPing {
            moments.append(nextPing)
        }
        return moments.min()
    }

    /// Since when the peer owes something and sends nothing; before the first good answer only an answer counts.
    private var silentSince: LoopInstant? {
        guard phase == .ready || phase == .leaving, let oldest = session?.oldestSubmission else { return nil }
        let isAnswerDue = !isProven && options.unprovenStreamLimit != nil
        return isAnswerDue ? oldest : max(oldest, lastReceipt)
    }

    /// When a sign of life is asked for if none comes before.
    private var nextPing: LoopInstant? {
        guard let interval = options.pingInterval, phase == .ready || phase == .leaving else { return nil }
        let idle = lastReceipt + interval
        guard let oldest = session?.oldestSubmission else { return idle }
        return min(idle, max(oldest, lastReceipt) + options.silenceLimit)
    }

    private func check() {
        guard let session, phase != .ended else { return }
        let now = loop.now
        if phase == .settling, now >= lastReceipt + options.settingsDeadline {
            return end("the server sent no SETTINGS within \(options.settingsDeadline)")
        }
        if let pingSent, now >= pingSent + options.pingDeadline {
            return end("no sign of life from the server within \(options.pingDeadline) of a PING")
        }
        expireRequests(session, now)
        guard phase != .ended else { return }
        if !isSilent, let silentSince, now >= silentSince + options.silenceLimit { setSilent(true) }
        if pingSent == nil, let nextPing, now >= nextPing {
            session.ping()
            pingSent = now
            planFlush()
        }
        planCheck()
    }

    private func setSilent(_ value: Bool) {
        isSilent = value
        if !value { planCheck() }
        pool?.connection(self, isSilent: value)
    }

    /// Ends requests whose answer is overdue; if nothing at all has come since the oldest, the connection is dead.
    private func expireRequests(_ session: HTTP2ClientSession, _ now: LoopInstant) {
        guard let oldest = session.oldestSubmission, now >= oldest + options.answerDeadline else { return }
        guard lastReceipt >= oldest else {
            return end("nothing came from the server within \(options.answerDeadline)")
        }
        session.expire(
            submittedUntil: now - options.answerDeadline,
            reason: "no answer within \(options.answerDeadline)"
        )
        // It waits for a first answer that nobody owes any more.
        if isSilent, !isProven, session.openCount == 0 { leave() }
        planFlush()
        finishIfDone()
        pool?.connectionProgressed(self)
    }
}
