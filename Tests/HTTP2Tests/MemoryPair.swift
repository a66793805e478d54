import HTTP2
import Transport

/// A client and a server session joined in memory, and what each was told.
final class MemoryPair: HTTP2ClientSessionHandler, HTTP2ServerSessionHandler {
    private(set) var client: HTTP2ClientSession?
    private(set) var server: HTTP2ServerSession?
    var answers: [Int: HTTP2Response] = [:]
    var failures: [Int: HTTP2Failure] = [:]
    var goAways: [HTTP2GoAway] = []
    var requests: [HTTP2ServerRequest] = []
    var streamsReceived: [Int32] = []
    private var underway: [UInt8] = []
    /// What the server does with a request; nothing keeps it waiting.
    var respond: (HTTP2ServerSession, HTTP2ServerRequest) throws -> Void = { _, _ in }
    var respondLean: (HTTP2ServerSession, Int32) -> Void = { _, _ in }

    init(settings: HTTP2Settings = HTTP2Settings(maximumConcurrentStreams: 100), keepsRequests: Bool = true) throws {
        client = try HTTP2ClientSession(handler: self)
        server = try HTTP2ServerSession(settings: settings, keepsRequests: keepsRequests, handler: self)
    }

    /// Breaks the cycle between the sessions and this object.
    func close() {
        client?.handler = nil
        server?.handler = nil
    }

    /// Carries bytes both ways until both sides are quiet; at most 1000 rounds.
    func pump() throws {
        for _ in 0..<1000 {
            let toServer = try clientOutput()
            if !toServer.isEmpty { try server?.receive(toServer) }
            let toClient = try serverOutput()
            if !toClient.isEmpty { try client?.receive(toClient) }
            if toServer.isEmpty, toClient.isEmpty { return }
        }
    }

    func clientOutput() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try client?.drain { bytes += $0.copiedBytes }
        return bytes
    }

    func serverOutput() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try server?.drain { bytes += $0.copiedBytes }
        return bytes
    }

    /// Keeps the server's output, as a network does.
    func hold(_ output: [UInt8]) { underway += output }

    /// The client receives what was held.
    func deliver() throws {
        let output = underway
        underway = []
        if !output.isEmpty { try client?.receive(output) }
    }

    func submit(_ request: HTTP2Request, tag: Int, at nanoseconds: Int64 = 0) -> Bool {
        client?.submit(request, tag: tag, now: LoopInstant(nanoseconds: nanoseconds)) ?? false
    }

    func session(_ session: HTTP2ClientSession, request tag: Int, answered response: HTTP2Response) {
        answers[tag] = response
    }

    func session(_ session: HTTP2ClientSession, request tag: Int, failed failure: HTTP2Failure) {
        failures[tag] = failure
    }

    func sessionReceivedSettings(_ session: HTTP2ClientSession) {}

    func session(_ session: HTTP2ClientSession, received goAway: HTTP2GoAway) {
        goAways.append(goAway)
    }

    func session(_ session: HTTP2ServerSession, received request: HTTP2ServerRequest) {
        requests.append(request)
        try? respond(session, request)
    }

    func session(_ session: HTTP2ServerSession, receivedOn streamID: Int32) {
        streamsReceived.append(streamID)
        respondLean(session, streamID)
    }
}

/// A request as the worker makes them, with `size` bytes of body.
func pushRequest(bodyOf size: Int = 20, topic: String = "com.example.app") -> HTTP2Request {
    let template = HTTP2RequestTemplate(
        authority: "api.push.example",
        headers: [("apns-topic", Array(topic.utf8)), ("apns-push-type", Array("alert".utf8))],
        varying: ["apns-id", "authorization"],
        body: [UInt8](repeating: UInt8(ascii: "x"), count: size)
    )
    return HTTP2Request(
        template,
        path: Array("/3/device/0a0b".utf8),
        values: [Array("id-1".utf8), Array("bearer abc".utf8)]
    )
}

extension Array {
    /// Pieces of that many elements, the last one shorter.
    func chunked(_ count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
