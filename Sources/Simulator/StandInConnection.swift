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
    /// Streams from this one on are not processed: a GOAWAY has said so.
    private var firstUnprocessed = Int32.max

    init(_ connection: HTTP2ServerConnection, loop: EventLoop, isLimitFixed: Bool) {
        self.connection = connection
        self.loop = loop
        self.isLimitFixed = isLimitFixed
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
        switch answer.fault {
        case nil:
            do {
                try connection.respond(streamID, status: answer.status, headers: answer.headers, body: answer.body)
            } catch {
                connection.reset(streamID, .internalError)
            }
        case .refuse: connection.reset(streamID, .refusedStream)
        case .goaway: goAway(.noError, below: streamID, debugData: [])
        case .drop: connection.drop()
        case .silent: break
        }
    }

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

    /// Closes without a word of HTTP/2.
    func drop() { connection.drop() }
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
