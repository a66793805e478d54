internal import CNghttp2
package import Transport

/// What a client session tells its owner, from within `receive`, `drain`, `expire` and `connectionLost`.
///
/// The owner may submit requests from these calls, and nothing else.
package protocol HTTP2ClientSessionHandler: AnyObject {
    func session(_ session: HTTP2ClientSession, request tag: Int, answered response: HTTP2Response)
    func session(_ session: HTTP2ClientSession, request tag: Int, failed failure: HTTP2Failure)
    /// The peer's SETTINGS have come; they may come again at any time.
    func sessionReceivedSettings(_ session: HTTP2ClientSession)
    func session(_ session: HTTP2ClientSession, received goAway: HTTP2GoAway)
}

/// The client side of one HTTP/2 connection, in memory: bytes in, bytes out, no socket and no clock.
///
/// Confined to one thread. Every submitted request ends in exactly one answer or failure. Requests never queue in
/// here: `canSubmit` says no when the peer's stream limit or send window is used up. Only the last body before the
/// window is full may wait in part for credit, so that no byte of the window stays unused.
package final class HTTP2ClientSession {
    /// Longer answers are cut: neither APNs nor FCM send more than a few hundred bytes.
    package static let maximumResponseBytes = 65_536
    /// More headers of an answer, and longer ones, are dropped.
    static let maximumHeaderCount = 64
    static let maximumHeaderBytes = 4096
    /// Half of the window that HTTP/2 begins with, rounded down (RFC 9113 section 6.9.2).
    ///
    /// Peers give credit when half the window has come, and then for all that has. Two halves with a frame too many fit
    /// into no window, so that a connection would carry half of it in a round trip; with frames that end at the halves
    /// it carries the whole.
    static let creditStep = 32_767
    /// What a peer may send in headers of one answer.
    private static let maximumHeaderListSize: UInt32 = 16_384

    /// Held until the owner takes it back at the end of the connection.
    package var handler: (any HTTP2ClientSessionHandler)?
    /// Whether the headers of answers with status 200 are kept too.
    package var keepsAllHeaders = false
    /// Streams that may be open, whatever more the peer allows.
    package var streamLimit = Int.max
    /// Whether the peer's first SETTINGS have come.
    package internal(set) var hasSettings = false
    /// The peer's GOAWAY; no request can be submitted after it.
    package internal(set) var goAway: HTTP2GoAway?

    let core: SessionCore
    var requests = RequestSlots()
    /// DATA bytes that were submitted and are not serialised yet.
    var queuedBodyBytes = 0
    /// DATA bytes that may follow before the peer owes credit.
    var bytesToCredit = HTTP2ClientSession.creditStep
    /// The status in the header block at hand.
    var currentStatus = 0
    /// What the library had to say about a broken session.
    var lastErrorText: String?
    private var scratch = HeaderScratch()
    private var peerStreamLimit = 0

    /// A session that has its connection preface and SETTINGS ready in `drain`.
    package init(handler: any HTTP2ClientSessionHandler) throws(HTTP2Error) {
        self.handler = handler
        core = unsafe try SessionCore(isClient: true) { unsafe Self.setCallbacks($0) }
        core.setUserData(self)
        var settings = HTTP2Settings()
        settings.maximumHeaderListSize = Self.maximumHeaderListSize
        // Answers to a thousand pushes at once shall not wait for a window; it costs nothing.
        settings.connectionWindowSize = 1_048_576
        try core.submit(settings, isClient: true)
    }

    /// Requests without an outcome.
    package var openCount: Int { requests.count }

    /// How many streams may be open now, by the owner's limit and the peer's SETTINGS.
    package var allowedStreams: Int { min(streamLimit, peerStreamLimit) }

    /// DATA bytes that can still be submitted and sent without waiting for credit.
    package var availableWindow: Int { max(0, core.remoteWindow - queuedBodyBytes) }

    /// Whether a request can be sent at once, at least with its body's first bytes, and as many streams stay free.
    package func canSubmit(bodyCount: Int, sparing spared: Int = 0) -> Bool {
        guard hasSettings, goAway == nil, requests.count + spared < allowedStreams else { return false }
        return bodyCount == 0 || availableWindow > 0 || requests.count == 0
    }

    /// Whether the whole body fits into the window now.
    package func fits(bodyCount: Int) -> Bool { bodyCount <= availableWindow }

    /// Submits a request; nothing is written before `drain`.
    ///
    /// False if the session takes no more now; the request is untouched then.
    package func submit(
        _ request: borrowing HTTP2Request,
        tag: Int,
        sparing spared: Int = 0,
        now: LoopInstant
    ) -> Bool {
        let template = request.template
        let body = request.body ?? template.body
        guard canSubmit(bodyCount: body.count, sparing: spared), request.values.count == template.varyingCount else {
            return false
        }
        let index = requests.add()
        let streamID = scratch.submit(request, session: core, slot: index, hasBody: !body.isEmpty)
        guard streamID > 0 else {
            // Stream numbers are used up (RFC 9113 section 5.1.1), or memory is.
            _ = requests.remove(index)
            goAway = goAway ?? HTTP2GoAway(lastStreamID: .max, errorCode: .noError, debugData: [])
            return false
        }
        requests.items[index].tag = tag
        requests.items[index].streamID = streamID
        requests.items[index].submitted = now.nanoseconds
        requests.items[index].template = template
        requests.items[index].body = body
        // Without a body the headers are the last frame: they begin here or later.
        if body.isEmpty { requests.items[index].endOffset = core.outputCount + 1 }
        queuedBodyBytes += body.count
        return true
    }

    /// Takes bytes of the peer; throws when the session cannot go on.
    package func receive(_ bytes: RawSpan) throws(HTTP2Error) {
        do throws(HTTP2Error) { try core.receive(bytes) } catch { throw explained(error) }
    }

    /// Takes bytes of the peer; throws when the session cannot go on.
    package func receive(_ bytes: [UInt8]) throws(HTTP2Error) { unsafe try receive(bytes.span.bytes) }

    /// Serialises all that may be sent now and hands it over frame by frame.
    package func drain(_ sink: (RawSpan) -> Void) throws(HTTP2Error) {
        do throws(HTTP2Error) { try core.drain(sink) } catch { throw explained(error) }
    }

    /// Whether there is output to drain.
    package var wantsToWrite: Bool { core.wantsToWrite }
    /// Whether both sides are done: the connection can be closed.
    package var isFinished: Bool { core.isFinished }
    /// Bytes handed to `drain`'s sink so far.
    package var outputCount: UInt64 { core.outputCount }
    /// Why the session is finished, in the library's words.
    package var failureText: String? { lastErrorText }
    /// When the oldest open request was submitted.
    package var oldestSubmission: LoopInstant? {
        requests.oldestIndex.map { LoopInstant(nanoseconds: requests.items[$0].submitted) }
    }

    /// Asks the peer for a sign of life; its answer is just received bytes.
    package func ping() { core.submitPing() }

    /// Tells the peer that no more requests will come.
    package func sayGoodbye() { core.submitGoAway(lastStreamID: 0, code: .noError, debugData: []) }

    /// Resets every request that was submitted at that moment or before; each ends as unanswered.
    package func expire(submittedUntil limit: LoopInstant, reason: String) {
        while let index = requests.oldestIndex, requests.items[index].submitted <= limit.nanoseconds {
            let streamID = requests.items[index].streamID
            core.forgetSlot(of: streamID)
            core.submitReset(streamID, .cancel)
            fail(index, .unanswered(reason: reason))
        }
    }

    /// Ends every open request, since the connection is gone: those whose last byte is among the `unsent` bytes at the
    /// end of the output were not processed, since the peer cannot act on a part of a request.
    package func connectionLost(unsent: Int, reason: String) {
        let sent = core.outputCount - min(UInt64(clamping: unsent), core.outputCount)
        while let index = requests.oldestIndex {
            let isWritten = requests.items[index].endOffset <= sent
            fail(index, isWritten ? .unanswered(reason: reason) : .notProcessed(reason: reason))
        }
    }

    /// Reads the peer's limits again.
    func settingsReceived() {
        hasSettings = true
        peerStreamLimit = Int(core.remoteMaximumConcurrentStreams)
        handler?.sessionReceivedSettings(self)
    }

    /// The peer counts anew from the credit that it gives.
    func creditReceived(_ count: Int) {
        let shift = (bytesToCredit + count) % Self.creditStep
        bytesToCredit = shift == 0 ? Self.creditStep : shift
    }

    /// Ends the request in the slot and tells the owner.
    func fail(_ index: Int, _ failure: HTTP2Failure) {
        let slot = remove(index)
        handler?.session(self, request: slot.tag, failed: failure)
    }

    /// Frees the slot; what its body still waited for is no longer owed.
    func remove(_ index: Int) -> RequestSlots.Slot {
        let slot = requests.remove(index)
        queuedBodyBytes -= slot.body.count - slot.bodyOffset
        return slot
    }

    private func explained(_ error: HTTP2Error) -> HTTP2Error {
        lastErrorText.map { .session($0) } ?? error
    }
}
