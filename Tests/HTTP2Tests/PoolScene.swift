import HTTP2
import TestSupport
import Testing
import Transport

/// A server over real TLS, a pool that pushes to it, and what each was told.
///
/// Confined to its loop.
final class PoolScene: HTTP2PoolHandler, HTTP2ServerConnectionHandler {
    let loop: EventLoop
    private(set) var server: HTTP2Server?
    private(set) var pool: HTTP2Pool?
    private(set) var answers: [Int: HTTP2Response] = [:]
    private(set) var failures: [Int: HTTP2Failure] = [:]
    private(set) var events: [HTTP2PoolEvent] = []
    private(set) var requests: [(connection: HTTP2ServerConnection, request: HTTP2ServerRequest)] = []
    private(set) var mostOpen = 0
    /// Requests to be submitted as soon as there is room.
    private(set) var waiting: [Int] = []
    var request = pushRequest()
    /// Whether each request's path ends with its tag.
    var numbersPaths = false
    /// Whether `push` leaves the reserve to others.
    var isBulk = false
    /// Whether requests that were not processed are submitted again, as often as it takes.
    var resendsUnprocessed = false
    /// What the server does with a request.
    var respond: (HTTP2ServerConnection, HTTP2ServerRequest) -> Void = { connection, request in
        try? connection.respond(request.streamID, status: 200)
    }
    /// The server's certificate and key.
    let certifiedKey: CertifiedKey
    let serverTLS: TLSServerContext
    var clientTLS: TLSClientContext

    init(on loop: EventLoop, protocols: [String] = ["h2"]) throws {
        self.loop = loop
        let authority = try CertificateAuthority(name: "HTTP/2 tests")
        certifiedKey = try authority.issue(hosts: ["127.0.0.1"])
        serverTLS = try TLSServerContext(
            certificateChainPEM: certifiedKey.chainPEM,
            keyPEM: certifiedKey.keyPEM,
            alpn: protocols
        )
        clientTLS = try TLSClientContext(extraCA: authority.certificatePEM, alpn: ["h2"])
    }

    func startServer(_ options: HTTP2ServerOptions = PoolScene.serverOptions(), port: UInt16 = 0) throws {
        server = try HTTP2Server(
            .tcp(host: "127.0.0.1", port: port),
            tls: serverTLS,
            options: options,
            on: loop,
            handler: self
        )
    }

    func startPool(_ options: HTTP2Options = HTTP2Options(), port: UInt16? = nil) {
        var options = options
        // A busy machine is no silent peer; tests of silence have a limit of their own.
        if options.silenceLimit == HTTP2Options().silenceLimit { options.silenceLimit = .seconds(60) }
        pool = HTTP2Pool(
            endpoint: .tcp(host: "127.0.0.1", port: port ?? server?.port ?? 0),
            tls: clientTLS,
            options: options,
            on: loop,
            handler: self
        )
    }

    static func serverOptions(streams: UInt32 = 100, delay: Duration = .zero) -> HTTP2ServerOptions {
        var options = HTTP2ServerOptions(
            settings: HTTP2Settings(maximumConcurrentStreams: streams),
            keepsRequests: true
        )
        options.outputDelay = delay
        return options
    }

    /// A port that nobody listens on, out of the range from which the system gives ports to others.
    static func unsharedPort(on loop: EventLoop) throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<32_000)
            guard let listener = try? Listener(.tcp(host: "127.0.0.1", port: port), on: loop, accept: { _ in nil })
            else { continue }
            listener.close()
            return port
        }
        throw TransportError.unusable("no port is free")
    }

    /// Submits one request; whether there was room.
    func submit(_ tag: Int, isBulk: Bool) -> Bool {
        pool?.submit(request, tag: tag, isBulk: isBulk) ?? false
    }

    /// Submits what there is room for; the rest when there is more.
    func push(_ tags: some Sequence<Int>) {
        waiting += tags
        submitWaiting()
    }

    private func submitWaiting() {
        var count = 0
        while count < waiting.count {
            if numbersPaths { request.path = Array("/3/device/\(waiting[count])".utf8) }
            guard pool?.submit(request, tag: waiting[count], isBulk: isBulk) == true else { break }
            count += 1
        }
        waiting.removeFirst(count)
    }

    func close() {
        pool?.close()
        server?.close()
    }

    func poolHasCapacity(_ pool: HTTP2Pool) { submitWaiting() }

    func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response) {
        #expect(answers[tag] == nil && failures[tag] == nil)
        answers[tag] = response
    }

    func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure) {
        #expect(answers[tag] == nil && failures[tag] == nil)
        if resendsUnprocessed, case .notProcessed = failure {
            waiting.append(tag)
            // Not at once: a connection that has ended may be telling of many.
            if waiting.count == 1 { loop.atEndOfTurn { self.submitWaiting() } }
            return
        }
        failures[tag] = failure
    }

    func pool(_ pool: HTTP2Pool, event: HTTP2PoolEvent) { events.append(event) }

    func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest) {
        requests.append((connection, request))
        mostOpen = max(mostOpen, connection.openCount)
        respond(connection, request)
    }
}

/// Runs a test's steps on one loop with a scene, and closes everything after it.
func withScene(
    protocols: [String] = ["h2"],
    _ body: (EventLoop, LoopConfined<PoolScene>) async throws -> Void
) async throws {
    try await withLoop { loop in
        let scene = try await loop.run { LoopConfined(try PoolScene(on: loop, protocols: protocols), on: loop) }
        do {
            try await body(loop, scene)
        } catch {
            try await loop.run { scene.value.close() }
            throw error
        }
        try await loop.run { scene.value.close() }
    }
}
