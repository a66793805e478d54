import HTTP2
import Testing
import Transport

@Suite("Client and server session in memory")
struct HTTP2SessionTests {
    @Test("A request arrives with its headers and body, and its answer comes back")
    func requestAndAnswer() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        pair.respond = { session, request in
            try session.respond(
                request.streamID,
                status: 410,
                headers: [HTTP2HeaderField("apns-id", "id-1")],
                body: Array(#"{"reason":"Unregistered"}"#.utf8)
            )
        }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 7))
        try pair.pump()
        let request = try #require(pair.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/3/device/0a0b")
        #expect(
            request.headers == [
                HTTP2HeaderField("apns-topic", "com.example.app"), HTTP2HeaderField("apns-push-type", "alert"),
                HTTP2HeaderField("apns-id", "id-1"), HTTP2HeaderField("authorization", "bearer abc"),
            ]
        )
        #expect(request.body == [UInt8](repeating: UInt8(ascii: "x"), count: 20))
        let answer = try #require(pair.answers[7])
        #expect(answer.status == 410)
        #expect(answer.header("apns-id") == "id-1")
        #expect(answer.body == Array(#"{"reason":"Unregistered"}"#.utf8))
        #expect(pair.client?.openCount == 0)
    }

    @Test("Headers of a success are kept only if asked for", arguments: [false, true])
    func headersOfSuccess(keeps: Bool) throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        pair.client?.keepsAllHeaders = keeps
        pair.respond = { session, request in
            try session.respond(request.streamID, status: 200, headers: [HTTP2HeaderField("apns-id", "a")])
        }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 1))
        try pair.pump()
        #expect(pair.answers[1]?.headers.count == (keeps ? 1 : 0))
        #expect(pair.answers[1]?.status == 200)
    }

    @Test("Nothing is submitted before the peer's SETTINGS, and never more than they allow")
    func streamLimit() throws {
        let pair = try MemoryPair(settings: HTTP2Settings(maximumConcurrentStreams: 3))
        defer { pair.close() }
        let request = pushRequest()
        #expect(!pair.submit(request, tag: 0))
        try pair.pump()
        for tag in 1...3 { #expect(pair.submit(request, tag: tag)) }
        #expect(!pair.submit(request, tag: 4))
        try pair.pump()
        #expect(pair.requests.count == 3)
        pair.server?.setMaximumConcurrentStreams(1)
        try pair.pump()
        #expect(pair.client?.allowedStreams == 1)
        for request in pair.requests.prefix(2) { try pair.server?.respond(request.streamID, status: 200) }
        try pair.pump()
        #expect(!pair.submit(request, tag: 5))
        try pair.server?.respond(pair.requests[2].streamID, status: 200)
        try pair.pump()
        #expect(pair.submit(request, tag: 6))
        #expect(pair.answers.count == 3)
    }

    @Test("The owner's own stream limit holds under the peer's")
    func ownLimit() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.pump()
        pair.client?.streamLimit = 1
        #expect(pair.submit(pushRequest(), tag: 1))
        #expect(!pair.submit(pushRequest(), tag: 2))
    }

    @Test("Bodies are submitted until the connection's window is full to its last byte, which earns it all back")
    func window() throws {
        let pair = try MemoryPair(settings: HTTP2Settings(maximumConcurrentStreams: 1000))
        defer { pair.close() }
        try pair.pump()
        let request = pushRequest(bodyOf: 4095)
        var count = 0
        while pair.submit(request, tag: count) { count += 1 }
        // The last one has room for 15 bytes.
        #expect(count == 17)
        #expect(pair.client?.fits(bodyCount: 1) == false)
        #expect(!pair.submit(pushRequest(bodyOf: 1), tag: 99))
        try pair.server?.receive(pair.clientOutput())
        #expect(pair.requests.count == 16)
        // The server gives credit back in steps of half a window: both halves.
        try pair.client?.receive(pair.serverOutput())
        #expect((pair.client?.availableWindow ?? 0) == 65_535 - (4095 - 15))
        try pair.pump()
        #expect(pair.requests.count == 17)
    }

    @Test("A connection carries a whole window in each round trip", arguments: [300, 4096])
    func windowInRoundTrip(bodyCount: Int) throws {
        let pair = try MemoryPair(settings: HTTP2Settings(maximumConcurrentStreams: 1000))
        defer { pair.close() }
        pair.respond = { session, request in try session.respond(request.streamID, status: 200) }
        try pair.pump()
        let request = pushRequest(bodyOf: bodyCount)
        var tag = 0
        for _ in 0..<100 {
            while pair.submit(request, tag: tag) { tag += 1 }
            // What is on its way arrives at once, the other side's output after it.
            for chunk in try pair.clientOutput().chunked(1400) {
                try pair.server?.receive(chunk)
                // The server writes when it has read a piece.
                pair.hold(try pair.serverOutput())
            }
            try pair.deliver()
        }
        #expect(pair.answers.count * bodyCount >= 95 * 65_535)
    }

    @Test("Streams are spared for others")
    func sparedStreams() throws {
        let pair = try MemoryPair(settings: HTTP2Settings(maximumConcurrentStreams: 10))
        defer { pair.close() }
        try pair.pump()
        let client = try #require(pair.client)
        for tag in 0..<8 {
            #expect(client.submit(pushRequest(bodyOf: 5), tag: tag, sparing: 2, now: LoopInstant(nanoseconds: 0)))
        }
        #expect(!client.canSubmit(bodyCount: 5, sparing: 2))
        #expect(client.canSubmit(bodyCount: 5))
    }

    @Test("A body larger than the whole window is sent alone and in pieces")
    func largeBody() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        pair.respond = { session, request in try session.respond(request.streamID, status: 413) }
        try pair.pump()
        #expect(pair.submit(pushRequest(bodyOf: 200_000), tag: 1))
        #expect(!pair.submit(pushRequest(), tag: 2))
        try pair.pump()
        #expect(pair.requests.first?.body.count == 200_000)
        #expect(pair.answers[1]?.status == 413)
        #expect((pair.client?.availableWindow ?? 0) > 32_000)
    }

    @Test("A refused stream was not processed, another reset is unanswered")
    func resets() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        pair.respond = { session, request in
            session.reset(request.streamID, request.body.count > 10 ? .refusedStream : .internalError)
        }
        try pair.pump()
        #expect(pair.submit(pushRequest(bodyOf: 20), tag: 1))
        #expect(pair.submit(pushRequest(bodyOf: 5), tag: 2))
        try pair.pump()
        #expect(pair.failures[1] == .notProcessed(reason: "REFUSED_STREAM"))
        #expect(pair.failures[2] == .unanswered(reason: "the peer reset the stream: INTERNAL_ERROR"))
        #expect(pair.client?.openCount == 0)
    }

    @Test("GOAWAY ends the streams above its last one as not processed; the others are still answered")
    func goAway() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.pump()
        for tag in 1...3 { #expect(pair.submit(pushRequest(), tag: tag)) }
        try pair.pump()
        pair.server?.goAway(.noError, lastStreamID: 3, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
        try pair.pump()
        #expect(pair.failures == [3: .notProcessed(reason: "GOAWAY")])
        #expect(
            pair.goAways == [
                HTTP2GoAway(lastStreamID: 3, errorCode: .noError, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
            ]
        )
        #expect(!pair.submit(pushRequest(), tag: 4))
        for request in pair.requests.prefix(2) { try pair.server?.respond(request.streamID, status: 200) }
        try pair.pump()
        #expect(pair.answers.keys.sorted() == [1, 2])
        #expect(pair.client?.isFinished == true)
    }

    @Test("What comes before a GOAWAY is out, on a stream above its last one, is not handed over")
    func goAwayOnItsWay() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 1))
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 2))
        pair.server?.goAway(.noError)
        try pair.server?.receive(try pair.clientOutput())
        try pair.pump()
        #expect(pair.requests.map(\.streamID) == [1])
        #expect(pair.failures == [2: .notProcessed(reason: "GOAWAY")])
        try pair.server?.respond(1, status: 200)
        try pair.pump()
        #expect(pair.answers.keys.sorted() == [1])
    }

    @Test("After a lost connection what was written in full is unanswered, the rest was not processed")
    func lostConnection() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 1))
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 2))
        let second = try pair.clientOutput()
        #expect(!second.isEmpty)
        #expect(pair.submit(pushRequest(), tag: 3))
        // Of the second request the system did not take the last byte.
        pair.client?.connectionLost(unsent: 1, reason: "reset")
        #expect(
            pair.failures == [
                1: .unanswered(reason: "reset"), 2: .notProcessed(reason: "reset"), 3: .notProcessed(reason: "reset"),
            ]
        )
    }

    @Test("A request past its deadline is reset and unanswered; a late answer does no harm")
    func deadline() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 1, at: 100))
        #expect(pair.submit(pushRequest(), tag: 2, at: 200))
        try pair.pump()
        #expect(pair.client?.oldestSubmission == LoopInstant(nanoseconds: 100))
        pair.client?.expire(submittedUntil: LoopInstant(nanoseconds: 150), reason: "no answer within 30 s")
        #expect(pair.failures == [1: .unanswered(reason: "no answer within 30 s")])
        // The slot is used again at once, while the reset is still to be written.
        #expect(pair.submit(pushRequest(), tag: 3, at: 300))
        for request in pair.requests { try pair.server?.respond(request.streamID, status: 200) }
        try pair.client?.receive(pair.serverOutput())
        pair.respond = { session, request in try session.respond(request.streamID, status: 200) }
        try pair.pump()
        #expect(pair.answers.keys.sorted() == [2, 3])
        #expect(pair.failures.count == 1)
        #expect(pair.client?.openCount == 0)
    }

    @Test("A request that was never written can expire too")
    func deadlineBeforeWriting() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 1))
        pair.client?.expire(submittedUntil: LoopInstant(nanoseconds: 0), reason: "late")
        #expect(pair.submit(pushRequest(), tag: 2, at: 1))
        try pair.pump()
        #expect(pair.failures.count == 1)
        #expect(pair.requests.count == 1)
        #expect(pair.client?.availableWindow == 65_535 - 20)
    }

    @Test("Bytes that are no HTTP/2 end the session")
    func notHTTP2() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        try pair.client?.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        _ = try pair.clientOutput()
        #expect(pair.client?.isFinished == true)
    }

    @Test("A session without kept requests answers from a template, with and without a body", arguments: [0, 70_000])
    func lean(size: Int) throws {
        let pair = try MemoryPair(keepsRequests: false)
        defer { pair.close() }
        let template = try HTTP2ResponseTemplate(status: 200, body: [UInt8](repeating: 1, count: size))
        pair.respondLean = { session, streamID in session.respond(streamID, with: template) }
        try pair.pump()
        for round in 0..<3 {
            for tag in 0..<10 { #expect(pair.submit(pushRequest(), tag: round * 10 + tag)) }
            try pair.pump()
        }
        #expect(pair.answers.count == 30)
        #expect(pair.answers[29]?.body.count == min(size, HTTP2ClientSession.maximumResponseBytes))
        #expect(pair.server?.openCount == 0)
    }

    @Test("A request without a body ends with its headers")
    func emptyBody() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        pair.respond = { session, request in try session.respond(request.streamID, status: 400) }
        try pair.pump()
        #expect(pair.submit(pushRequest(bodyOf: 0), tag: 1))
        try pair.pump()
        #expect(pair.answers[1]?.status == 400)
    }

    @Test(
        "Headers that HTTP/2 forbids are refused",
        arguments: [
            HTTP2HeaderField("Apns-Topic", "a"), HTTP2HeaderField("a b", "a"), HTTP2HeaderField("", "a"),
            HTTP2HeaderField("apns-topic", "a\r\nb"), HTTP2HeaderField("apns-topic", "a\u{0}"),
        ]
    )
    func forbiddenHeaders(header: HTTP2HeaderField) {
        #expect(throws: HTTP2Error.self) { try header.validate() }
    }

    @Test("Of an answer's headers a bounded number is kept")
    func manyHeaders() throws {
        let pair = try MemoryPair()
        defer { pair.close() }
        pair.respond = { session, request in
            var headers = [HTTP2HeaderField("long", String(repeating: "x", count: 5000))]
            for number in 0..<200 { headers.append(HTTP2HeaderField("retry-after", "\(number)")) }
            try session.respond(request.streamID, status: 503, headers: headers)
        }
        try pair.pump()
        #expect(pair.submit(pushRequest(), tag: 1))
        try pair.pump()
        #expect(pair.answers[1]?.headers.count == 64)
        #expect(pair.answers[1]?.header("retry-after") == "0")
        #expect(pair.answers[1]?.header("long") == nil)
    }
}
