import Encoding
import HTTP2
import Simulator
import TestSupport
import Testing
import Transport

/// A simulator and pools that push to it, and what they were told.
///
/// Confined to its loop.
final class SimulatorScene: HTTP2PoolHandler {
    let simulator: Simulator
    private(set) var answers: [Int: HTTP2Response] = [:]
    private(set) var failures: [Int: HTTP2Failure] = [:]
    private(set) var events: [HTTP2PoolEvent] = []
    private(set) var waiting: [(tag: Int, request: HTTP2Request)] = []
    private(set) var pool: HTTP2Pool?
    /// One token for all requests, as Apple wants it.
    private(set) var usualToken = ""
    private let loop: EventLoop

    init(_ options: SimulatorOptions, on loop: EventLoop) throws {
        self.loop = loop
        simulator = try Simulator(options: options, credentials: SimulatorCredentials(), on: loop)
        usualToken = try providerToken()
    }

    /// Everything that is asked for has an answer or has failed.
    var isSettled: Bool { waiting.isEmpty && pool?.openCount == 0 }

    /// What the oracle has, a JSON value for each push.
    var received: [JSONValue] {
        simulator.received.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONDocument(Array($0)).root }
    }

    /// Pushes from now on to one of the simulator's URLs.
    func connect(to url: String, _ change: (inout HTTP2Options) -> Void = { _ in }) throws {
        var options = HTTP2Options()
        options.keepsAllHeaders = true
        options.firstPause = .milliseconds(20)
        options.longestPause = .milliseconds(100)
        change(&options)
        pool?.close()
        pool = HTTP2Pool(
            endpoint: .tcp(host: "localhost", port: UInt16(url.split(separator: ":").last ?? "") ?? 0),
            tls: try TLSClientContext(extraCA: simulator.credentials.authority.certificatePEM, alpn: ["h2"]),
            options: options,
            on: loop,
            handler: self
        )
    }

    func push(_ request: HTTP2Request, tags: some Sequence<Int>) {
        waiting += tags.map { ($0, request) }
        submitWaiting()
    }

    /// A request to APNs; each token has a path of its own.
    func apnsRequest(device: String = "0a1b", token: String? = nil, body: String = #"{"aps":{"alert":"x"}}"#)
        -> HTTP2Request
    {
        let template = HTTP2RequestTemplate(
            authority: "localhost",
            headers: [
                ("apns-topic", Array("com.example.app".utf8)), ("apns-push-type", Array("alert".utf8)),
                ("authorization", Array((token ?? usualToken).utf8)),
            ],
            body: Array(body.utf8)
        )
        return HTTP2Request(template, path: Array("/3/device/\(device)".utf8))
    }

    /// A request to FCM with that access token.
    func fcmRequest(accessToken: String, message: String) -> HTTP2Request {
        let template = HTTP2RequestTemplate(
            authority: "localhost",
            headers: [
                ("content-type", Array("application/json".utf8)),
                ("authorization", Array("Bearer \(accessToken)".utf8)),
            ],
            body: Array(#"{"message":\#(message)}"#.utf8)
        )
        return HTTP2Request(
            template,
            path: Array("/v1/projects/\(simulator.credentials.projectID)/messages:send".utf8)
        )
    }

    /// A provider token of the simulator's key, made that many seconds ago.
    func providerToken(age: Int64 = 0) throws -> String {
        let credentials = simulator.credentials
        let token = try SignedToken.make(keyID: credentials.apnsKeyID, key: credentials.apnsKey) {
            $0.key("iss")
            $0.string(credentials.apnsTeamID)
            $0.key("iat")
            $0.integer(currentUnixMilliseconds() / 1000 - age)
        }
        return "bearer " + String(decoding: token, as: UTF8.self)
    }

    func close() {
        pool?.close()
        simulator.close()
    }

    private func submitWaiting() {
        var count = 0
        while count < waiting.count, pool?.submit(waiting[count].request, tag: waiting[count].tag) == true {
            count += 1
        }
        waiting.removeFirst(count)
    }

    func poolHasCapacity(_ pool: HTTP2Pool) { submitWaiting() }

    func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response) {
        #expect(answers[tag] == nil && failures[tag] == nil)
        answers[tag] = response
    }

    func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure) {
        #expect(answers[tag] == nil && failures[tag] == nil)
        failures[tag] = failure
    }

    func pool(_ pool: HTTP2Pool, event: HTTP2PoolEvent) { events.append(event) }
}

/// Runs a test's steps with a simulator, and closes everything after them.
func withSimulator(
    _ options: SimulatorOptions = SimulatorOptions(),
    _ body: (EventLoop, LoopConfined<SimulatorScene>) async throws -> Void
) async throws {
    try await withLoop { loop in
        let scene = try await loop.run { LoopConfined(try SimulatorScene(options, on: loop), on: loop) }
        do {
            try await body(loop, scene)
        } catch {
            try await loop.run { scene.value.close() }
            throw error
        }
        try await loop.run { scene.value.close() }
    }
}

/// A call of the control interface, or of the token endpoint.
func call(_ method: String, _ url: String, body: String? = nil, authority: [UInt8]? = nil) async throws
    -> (status: Int, body: String)
{
    var request = HTTPSClient.Request(method, url)
    request.body = body.map { Array($0.utf8) }
    request.extraCA = authority
    request.proxy = .none
    request.maximumBytes = 16_777_216
    if authority != nil { request.headers = [("content-type", "application/x-www-form-urlencoded")] }
    let response = try await HTTPSClient.perform(request)
    return (response.status, String(decoding: response.body, as: UTF8.self))
}
