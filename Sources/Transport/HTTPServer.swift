internal import CMicrohttpd

/// A whole request as an ``HTTPServer`` received it.
package struct HTTPServerRequest: Sendable {
    package let method: String
    /// Without the query, percent-decoded.
    package let path: String
    package let query: [(name: String, value: String)]
    /// Names in lower case.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package init(
        method: String,
        path: String,
        query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }
}

/// What an ``HTTPServer`` answers.
package struct HTTPServerResponse: Sendable {
    package var status: Int
    package var contentType: String
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        status: Int,
        contentType: String = "text/plain; charset=utf-8",
        headers: [(name: String, value: String)] = [],
        body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }
}

/// An HTTP/1.1 server on libmicrohttpd, for health, metrics and control; off the loops and off the hot path.
///
/// It serves one request after the other on a thread of its own, where the handler may block for a moment. Unchecked
/// `Sendable`: made once, and the library locks its daemon.
///
/// What is no HTTP is answered by the library (400, 413, 414, 431, 501). A connection without a byte for 30 seconds is
/// closed, and so is one over the limit of 256.
@safe package final class HTTPServer: @unchecked Sendable {
    package typealias Handler = @Sendable (HTTPServerRequest) -> HTTPServerResponse

    private static let timeoutSeconds: UInt32 = 30
    private static let maximumConnections: UInt32 = 256
    private static let stopDeadline = Duration.seconds(5)

    /// The port in use, also if any was asked for.
    package let port: UInt16
    private let context: HTTPServerContext
    private let daemon: OpaquePointer

    /// Listens at once; port 0 is any free one.
    ///
    /// The host is an address or a local name. Bodies over `maximumBodyBytes` are answered with 413.
    package init(
        host: String,
        port: UInt16,
        maximumBodyBytes: Int = 1 << 20,
        handler: @escaping Handler
    ) throws(TransportError) {
        let endpoint = Endpoint.tcp(host: host, port: port)
        let socket = try Listener.socket(on: try Listener.address(of: endpoint), of: endpoint)
        self.port = try SocketAddress(ofSocket: socket.number).port
        context = HTTPServerContext(maximumBodyBytes: maximumBodyBytes, handler: handler)
        let number = socket.number
        socket.relinquish()
        // Safety: the context outlives the daemon, which is stopped in `deinit` at the latest.
        let started = unsafe shim_http_start(
            number,
            HTTPServerContext.onRequest,
            Unmanaged.passUnretained(context).toOpaque(),
            HTTPServerContext.onCompleted,
            Self.timeoutSeconds,
            Self.maximumConnections,
            Self.maximumConnections
        )
        guard let daemon = unsafe started else {
            throw .connect(endpoint: endpoint, reason: "the HTTP server did not start, for lack of memory or threads")
        }
        unsafe self.daemon = daemon
    }

    /// Ends it; not from within the handler.
    ///
    /// A request whose handler has begun is answered first, if its client takes the answer within five seconds; then
    /// all connections are closed. Only the first call does anything.
    package func stop() {
        guard context.end(answersWithin: Self.stopDeadline) else { return }
        unsafe MHD_stop_daemon(daemon)
    }

    deinit {
        stop()
    }
}
