import HTTP2
import Transport

/// One HTTP/2 connection to a stand-in, and what the stand-in remembers of it.
///
/// Confined to the simulator's loop.
final class StandInConnection {
    /// What the connection has seen of APNs' provider tokens.
    var tokenMemory = APNsTokenCheck.Memory()
    /// What its client's certificate says; nil without one.
    let certificate: APNsCertificateCheck?

    /// It holds this object too, and lets go of it at its end.
    private let connection: HTTP2ServerConnection
    private let loop: EventLoop
    /// Set by a user: the services raise the limit no more.
    private var isLimitFixed: Bool
    /// Reads and writes nothing any more.
    private(set) var isMute = false
    private let conduct: Conduct
    private let tally: PushTally?
    /// How long an answer takes.
    private let distance: Duration
    private var requestCount = 0
    private var errorCount = 0
    /// The pushes without an answer, by stream, and those whose answers may not have arrived; for the tally.
    private var open: [Int32: UInt64] = [:]
    private var underway: [(moment: LoopInstant, name: UInt64)] = []
    /// Streams from this one on are not processed: a GOAWAY has said so.
    private var firstUnprocessed = Int32.max

    let gateway: String

    init(_ connection: HTTP2ServerConnection, gateway: String, state: StandInState, loop: EventLoop) {
        self.gateway = gateway
        conduct = state.conduct.isFor(gateway) ? state.conduct : Conduct()
        tally = gateway == "apns" ? state.tally : nil
        distance = state.options.distance
        self.connection = connection
        self.loop = loop
        isLimitFixed = state.options.streamLimit != nil
        certificate = connection.peerCertificate.map { APNsCertificateCheck($0) }
    }

    /// Whether a stream is above what a GOAWAY has said to be the last: it gets no answer, and nothing notes it.
    func isUnprocessed(_ streamID: Int32) -> Bool { streamID >= firstUnprocessed }

    /// Does with a request what was decided, when its time has come.
    func perform(_ answer: StandInAnswer, on streamID: Int32, after turn: Duration) {
        let delay = answer.delay + turn
        guard delay > .zero else { return performNow(answer, on: streamID) }
        loop.schedule(after: delay) { self.performNow(answer, on: streamID) }
    }

    private func performNow(_ answer: StandInAnswer, on streamID: Int32) {
        guard !isUnprocessed(streamID) else { return }
        if answer.fault == nil { note(answer, on: streamID) }
        switch answer.fault {
        case nil:
            do {
                try connection.respond(streamID, status: answer.status, headers: answer.headers, body: answer.body)
            } catch {
                connection.reset(streamID, .internalError)
            }
        case .refuse: connection.reset(streamID, .refusedStream)
        case .reset: connection.reset(streamID, .internalError)
        case .goaway: goAway(.noError, below: streamID, debugData: answer.goAwayData)
        case .drop: cut(.drop)
        case .abort: cut(.reset)
        case .mute: cut(.mute)
        case .silent: break
        }
        switch answer.sequel {
        case nil: break
        case .goaway: goAway(.noError, below: streamID + 2, debugData: answer.goAwayData)
        case .drop: connection.close()
        case .mute: mute()
        }
    }

    /// Counts a request, and does what the conduct has for its number.
    func received(_ request: ReceivedRequest, on streamID: Int32) {
        requestCount += 1
        if let tally, let name = request.header("apns-id").map(PushTally.name) {
            tally.came(name)
            open[streamID] = name
        }
        if requestCount == conduct.requestsToGoAway {
            goAway(.noError, below: streamID + 2, debugData: conduct.goAwayData)
        }
        if requestCount == conduct.requestsToStreamChange { setStreamLimit(conduct.changedStreams) }
    }

    /// An answer is written.
    private func note(_ answer: StandInAnswer, on streamID: Int32) {
        if let name = open.removeValue(forKey: streamID) {
            tally?.answered(name, status: answer.status)
            underway.append((loop.now, name))
            if underway.count >= 4096 { forgetArrived() }
        }
        guard answer.status >= 400, answer.status != 410 else { return }
        errorCount += 1
        guard errorCount == conduct.errorLimit else { return }
        goAway(.enhanceYourCalm, below: streamID + 2, debugData: Array("too many errors".utf8))
        loop.atEndOfTurn { self.connection.close() }
    }

    /// Forgets answers that were written so long ago that they have arrived.
    private func forgetArrived() {
        let limit = loop.now - distance * 2
        underway.removeAll { $0.moment < limit }
    }

    /// The connection has ended: what is not answered will not be.
    func ended() {
        for name in open.values { tally?.lost(name) }
        open = [:]
    }

    /// The connection is cut here and now: answers on their way do not arrive either.
    private func loseAnswers() {
        forgetArrived()
        for answer in underway { tally?.lost(answer.name) }
        underway = []
        ended()
    }

    /// Cuts the connection.
    func cut(_ cut: Conduct.Cut) {
        loseAnswers()
        switch cut {
        case .drop: connection.drop()
        case .reset: connection.abort()
        case .mute: mute()
        }
    }

    /// Reads and writes nothing any more.
    func mute() {
        isMute = true
        loseAnswers()
        connection.goSilent()
    }

    var openCount: Int { connection.openCount }

    /// Allows more streams, unless a user has set the limit.
    func raiseStreamLimit(to limit: UInt32) {
        guard !isLimitFixed, (connection.announcedStreamLimit ?? 0) < limit else { return }
        connection.setMaximumConcurrentStreams(limit)
    }

    /// A user's own limit.
    func setStreamLimit(_ limit: UInt32) {
        isLimitFixed = true
        connection.setMaximumConcurrentStreams(limit)
    }

    func reset(_ streamID: Int32, _ code: HTTP2ErrorCode) {
        connection.reset(streamID, code)
    }

    /// Says that nothing from this stream on was processed, and takes no new streams.
    func goAway(_ code: HTTP2ErrorCode, below streamID: Int32, debugData: [UInt8]) {
        firstUnprocessed = min(firstUnprocessed, streamID)
        connection.goAway(code, lastStreamID: max(0, streamID - 2), debugData: debugData)
    }

    /// Says goodbye: the streams that are open are answered (RFC 9113 section 6.8).
    func goAway(debugData: [UInt8]) {
        connection.goAway(.noError, debugData: debugData)
    }
}

extension ReceivedRequest {
    init(_ request: HTTP2ServerRequest) {
        self.init(
            method: request.method,
            authority: request.authority,
            path: request.path,
            headers: request.headers.map { (name: $0.name, value: $0.text) },
            body: request.body
        )
    }
}
