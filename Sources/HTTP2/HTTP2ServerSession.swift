internal import CNghttp2

/// What a server session tells its owner, from within `receive`; responding from these calls is the cheapest way.
package protocol HTTP2ServerSessionHandler: AnyObject {
    /// A request is complete; only in a session that keeps requests.
    func session(_ session: HTTP2ServerSession, received request: HTTP2ServerRequest)
    /// A request is complete; only in a session that does not keep requests.
    func session(_ session: HTTP2ServerSession, receivedOn streamID: Int32)
}

/// The server side of one HTTP/2 connection, in memory: bytes in, bytes out, no socket and no clock.
///
/// Confined to one thread. Made for stand-ins of providers: it can answer late or never, change its limits while
/// streams are open, refuse streams and say goodbye. Without kept requests it does nothing for a header but decode it.
package final class HTTP2ServerSession {
    /// More of a body is counted, not kept.
    package static let maximumRequestBytes = 1_048_576

    /// Held until the owner takes it back at the end of the connection.
    package var handler: (any HTTP2ServerSessionHandler)?
    package let keepsRequests: Bool
    /// Streams with a request that has begun and is not answered in full.
    package private(set) var openCount = 0

    /// The limit that the peer was told last; it is the owner's to enforce, see `HTTP2ServerRequest.isOverLimit`.
    package private(set) var announcedStreamLimit: UInt32?

    let core: SessionCore
    /// The last stream that a GOAWAY, sent or about to be, leaves to be processed.
    private(set) var goAwayLimit = Int32.max
    private var announcements = StreamLimitAnnouncements()
    var streams = ServerStreams()
    private let scratch = ServerScratch()

    /// A session that has its SETTINGS ready in `drain`.
    package init(
        settings: HTTP2Settings,
        keepsRequests: Bool,
        ignoresPings: Bool = false,
        handler: any HTTP2ServerSessionHandler
    ) throws(HTTP2Error) {
        self.handler = handler
        self.keepsRequests = keepsRequests
        core = unsafe try SessionCore(isClient: false, ignoresPings: ignoresPings) { callbacks in
            unsafe Self.setCallbacks(callbacks, keepsRequests: keepsRequests)
        }
        core.setUserData(self)
        var submitted = settings
        if let limit = settings.maximumConcurrentStreams {
            submitted.maximumConcurrentStreams = StreamLimitAnnouncements.placeholder
            announcements.add(limit)
            announcedStreamLimit = limit
        }
        try core.submit(submitted, isClient: false)
    }

    /// Takes bytes of the peer; throws when the session cannot go on.
    package func receive(_ bytes: RawSpan) throws(HTTP2Error) { try core.receive(bytes) }

    /// Takes bytes of the peer; throws when the session cannot go on.
    package func receive(_ bytes: [UInt8]) throws(HTTP2Error) { unsafe try receive(bytes.span.bytes) }

    /// Serialises all that may be sent now and hands it over frame by frame.
    package func drain(_ sink: (RawSpan) -> Void) throws(HTTP2Error) {
        guard !announcements.isEmpty else { return try core.drain(sink) }
        try core.drain { frame in
            if let changed = announcements.applied(to: frame) { unsafe sink(changed.span.bytes) } else { sink(frame) }
        }
    }

    /// Whether there is output to drain.
    package var wantsToWrite: Bool { core.wantsToWrite }
    /// Whether both sides are done: the connection can be closed.
    package var isFinished: Bool { core.isFinished }

    /// Answers a request; ignored if its stream is gone.
    package func respond(_ streamID: Int32, with template: HTTP2ResponseTemplate) {
        guard !template.body.isEmpty else {
            scratch.respond(core, streamID, template.headers, slot: nil)
            return
        }
        let slot = slotForResponse(streamID)
        streams.items[slot].response = template.body
        streams.items[slot].template = template
        scratch.respond(core, streamID, template.headers, slot: slot)
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
        let template = try HTTP2ResponseTemplate(status: status, headers: headers, body: body)
        let slot = slotForResponse(streamID)
        streams.items[slot].response = body
        streams.items[slot].template = template
        scratch.respond(core, streamID, template.headers, slot: body.isEmpty ? nil : slot)
    }

    /// Ends a stream with an error code, `refusedStream` for "not processed".
    package func reset(_ streamID: Int32, _ code: HTTP2ErrorCode) { core.submitReset(streamID, code) }

    /// Announces another limit of streams; those that are open stay.
    package func setMaximumConcurrentStreams(_ count: UInt32) {
        announcements.add(count)
        announcedStreamLimit = count
        core.submitMaximumConcurrentStreams(StreamLimitAnnouncements.placeholder)
    }

    /// GOAWAY; no last stream given stands for the newest that has come.
    ///
    /// Streams above it are handed over no more, also those that come before the GOAWAY is drained. A repetition that
    /// would not lower the number is left out: it must not grow (RFC 9113 section 6.8).
    package func goAway(_ code: HTTP2ErrorCode, lastStreamID: Int32? = nil, debugData: [UInt8] = []) {
        let last = lastStreamID ?? core.lastReceivedStream
        guard last < goAwayLimit else { return }
        goAwayLimit = last
        core.submitGoAway(lastStreamID: last, code: code, debugData: debugData)
    }

    func began(_ streamID: Int32) {
        openCount += 1
        guard keepsRequests else { return }
        var request = HTTP2ServerRequest(streamID: streamID)
        request.isOverLimit = openCount > announcedStreamLimit.map(Int.init) ?? .max
        core.setSlot(streams.add(request), of: streamID)
    }

    func closed(_ streamID: Int32) {
        openCount -= 1
        if let slot = core.slot(of: streamID) { streams.remove(slot) }
    }

    /// The slot that a stream has, or a new one: a session that keeps no requests gives them out for bodies only.
    private func slotForResponse(_ streamID: Int32) -> Int {
        if let slot = core.slot(of: streamID) { return slot }
        let slot = streams.add(HTTP2ServerRequest(streamID: streamID))
        core.setSlot(slot, of: streamID)
        return slot
    }
}
