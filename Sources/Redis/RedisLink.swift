import Transport

/// What a link tells its owner; all calls on the loop.
protocol RedisLinkOwner: AnyObject {
    /// Connected and logged in.
    func linkEstablished(_ link: RedisLink)
    /// Bytes that came since; valid during the call.
    func link(_ link: RedisLink, received bytes: RawSpan)
    /// A moment to look at the time, several times within the shortest deadline.
    func linkTick(_ link: RedisLink)
    /// The link was lost, or an attempt failed; it tries again by itself.
    func linkLost(_ link: RedisLink, error: RedisError)
}

/// A byte stream to Redis that logs in, and comes back by itself after it was lost; confined to its loop.
///
/// Owned by a connection or a subscription, which must close it, and which it holds until then: weak references would
/// make each retain of the owner dearer.
final class RedisLink: ByteStreamHandler {
    private enum Phase {
        case idle
        /// Asks the sentinels for the primary.
        case asking(SentinelQuery)
        case connecting
        case loggingIn(RedisHandshake, RESPDecoder)
        case established(since: LoopInstant)
        case waiting
        case closed
    }

    /// The server ended the connection, without a word.
    static let endedByServer = RedisError.connection(.connection("the server ended it"))

    let settings: RedisSettings
    let name: String
    let loop: EventLoop
    let timings: RedisTimings
    var owner: (any RedisLinkOwner)?
    /// When bytes came last; the moment of the login at first.
    private(set) var lastInputAt: LoopInstant
    /// How long it waits before the next attempt, while it waits.
    private(set) var retryDelay: Duration?

    private var phase = Phase.idle
    private var stream: ByteStream?
    private var timer: LoopTimer?
    private var backoff: Backoff
    /// Where it is connected, or tries to be.
    private(set) var server: Endpoint
    /// The index of the sentinel to ask first, modulo their number.
    private var firstSentinel = 0
    /// With the sentinel that named the primary.
    private var conversation: SentinelConversation?

    init(_ settings: RedisSettings, name: String, timings: RedisTimings, on loop: EventLoop) {
        self.settings = settings
        self.name = name
        self.loop = loop
        self.timings = timings
        server = settings.endpoint
        backoff = Backoff(first: timings.firstDelay, limit: timings.maximumDelay)
        lastInputAt = loop.now
    }

    var isEstablished: Bool {
        guard case .established = phase else { return false }
        return true
    }

    /// Output that waits to be sent.
    var pendingOutputBytes: Int { stream?.pendingOutputBytes ?? 0 }

    func start() {
        loop.preconditionOnLoop()
        guard case .idle = phase else { return }
        connect()
    }

    /// Ends it for good; the owner hears nothing more.
    func close() {
        loop.preconditionOnLoop()
        if case .asking(let query) = phase { query.cancel() }
        phase = .closed
        owner = nil
        dropStream()
    }

    func write(_ command: RedisCommand) {
        guard let stream else { return }
        command.withRequest { stream.write($0) }
    }

    /// Drops the connection because of what came, or did not come, over it.
    func fail(_ error: RedisError) {
        switch phase {
        case .connecting, .loggingIn, .established: lost(error)
        case .idle, .asking, .waiting, .closed: break
        }
    }

    private func connect() {
        retryDelay = nil
        guard let sentinels = settings.sentinels else { return connect(to: settings.endpoint) }
        let query = SentinelQuery(
            sentinels,
            first: firstSentinel,
            settings: settings,
            deadline: timings.sentinelDeadline,
            on: loop
        ) { [self] in answered($0) }
        phase = .asking(query)
        query.start()
    }

    /// The sentinels have answered.
    private func answered(_ result: Result<SentinelQuery.Answer, RedisError>) {
        guard case .asking = phase else { return }
        switch result {
        case .success(let answer):
            firstSentinel = settings.sentinels?.endpoints.firstIndex(of: answer.conversation.sentinel) ?? 0
            conversation = answer.conversation
            connect(to: answer.primary)
        case .failure(let error): lost(error)
        }
    }

    /// Asks the sentinel once more: after a failover the old primary may go on as if nothing were, for seconds.
    private func watchPrimary() {
        guard let sentinels = settings.sentinels, let conversation, !conversation.isAsking else { return }
        conversation.ask { [self] result in
            guard conversation === self.conversation else { return }
            switch result {
            case .success(let primary):
                if primary != server { fail(.noPrimary("the primary is \(primary) now, and no longer \(server)")) }
            case .failure:
                // Others may not know yet what this one knew: only it is asked, until the connection is lost.
                self.conversation = SentinelConversation(
                    conversation.sentinel,
                    name: sentinels.name,
                    settings: settings,
                    deadline: timings.sentinelDeadline,
                    on: loop
                )
            }
        }
    }

    private func connect(to server: Endpoint) {
        self.server = server
        phase = .connecting
        stream = ByteStream.connect(
            to: server,
            tls: settings.tls,
            deadline: timings.connectDeadline,
            on: loop,
            handler: self
        )
    }

    private func lost(_ error: RedisError) {
        switch phase {
        case .established(let since): if loop.now - since >= timings.stableAfter { backoff.reset() }
        // What this sentinel named is no primary: its view may be an old one.
        case .connecting, .loggingIn: firstSentinel += 1
        case .idle, .asking, .waiting, .closed: break
        }
        phase = .waiting
        dropStream()
        let delay = backoff.next(random: .random(in: 0..<1))
        retryDelay = delay
        timer = loop.schedule(after: delay) { [self] in
            guard case .waiting = phase else { return }
            connect()
        }
        owner?.linkLost(self, error: error)
    }

    private func dropStream() {
        timer?.cancel()
        timer = nil
        stream?.close()
        stream = nil
        conversation?.close()
        conversation = nil
    }
}

// MARK: The stream

extension RedisLink {
    func byteStreamConnected(_ stream: ByteStream) {
        guard stream === self.stream else { return }
        let handshake = RedisHandshake(settings, name: name, server: server)
        for command in handshake.commands { write(command) }
        phase = .loggingIn(handshake, RESPDecoder())
        let deadline = timings.connectDeadline
        timer = loop.schedule(after: deadline) { [self] in
            fail(.overdue("no answer to the login within \(deadline)"))
        }
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        guard stream === self.stream else { return }
        lastInputAt = loop.now
        switch phase {
        case .established: owner?.link(self, received: bytes)
        case .loggingIn(let handshake, let decoder): logIn(handshake, decoder, bytes)
        case .idle, .asking, .connecting, .waiting, .closed: break
        }
    }

    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        guard stream === self.stream else { return }
        lost(error.map { .connection($0) } ?? Self.endedByServer)
    }

    private func logIn(_ handshake: RedisHandshake, _ decoder: RESPDecoder, _ bytes: RawSpan) {
        var handshake = handshake
        var refusal: RedisError?
        let broken = decoder.decode(bytes) { reply in
            do throws(RedisError) {
                try handshake.receive(reply)
            } catch {
                refusal = error
            }
            return refusal == nil
        }
        if let error = refusal ?? broken { return lost(error) }
        guard handshake.isDone else {
            phase = .loggingIn(handshake, decoder)
            return
        }
        phase = .established(since: loop.now)
        timer?.cancel()
        planTick()
        owner?.linkEstablished(self)
    }

    private func planTick() {
        let due = loop.now + timings.tick
        timer = loop.schedule(after: timings.tick) { [self] in
            guard case .established = phase else { return }
            let hasStoodStill = loop.now - due > timings.tick
            planTick()
            watchPrimary()
            // What came while the loop stood still is read before anything is found to be overdue.
            if !hasStoodStill { owner?.linkTick(self) }
        }
    }
}
