internal import CMicrohttpd
import Glibc

/// A whole request as an ``HTTPServer`` received it.
package struct HTTPServerRequest: Sendable {
    package let method: String
    /// Without the query, percent-decoded.
    package let path: String
    package let query: [(name: String, value: String)]
    /// Names in lower case.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
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
@safe package final class HTTPServer: @unchecked Sendable {
    package typealias Handler = @Sendable (HTTPServerRequest) -> HTTPServerResponse

    private static let timeoutSeconds: UInt32 = 30
    private static let maximumConnections: UInt32 = 256

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
        let addresses = try Resolver.lookUp(host: host, port: port, flags: AI_PASSIVE)
        guard let address = addresses.first else { throw .resolution(host: host, reason: "it has no address") }
        context = HTTPServerContext(maximumBodyBytes: maximumBodyBytes, handler: handler)
        // Safety: the context outlives the daemon, which is stopped in `deinit` at the latest.
        let pointer = unsafe Unmanaged.passUnretained(context).toOpaque()
        errno = 0
        let started = unsafe address.withPointer { address, _ in
            unsafe shim_http_start(
                address,
                Int32(address.pointee.sa_family) == AF_INET6 ? 1 : 0,
                HTTPServerContext.onRequest,
                pointer,
                HTTPServerContext.onCompleted,
                Self.timeoutSeconds,
                Self.maximumConnections,
                Self.maximumConnections
            )
        }
        guard let daemon = unsafe started else {
            let reason = errno == 0 ? "the HTTP server did not start" : systemErrorText(errno)
            throw .connect(
                endpoint: .tcp(host: host, port: port),
                reason: "it cannot be listened on: \(reason)"
            )
        }
        unsafe self.daemon = daemon
        self.port = unsafe shim_http_port(daemon)
        context.isRunning = true
    }

    /// Ends it: requests that run are finished first.
    ///
    /// Once.
    package func stop() {
        guard context.isRunning else { return }
        context.isRunning = false
        unsafe MHD_stop_daemon(daemon)
    }

    deinit {
        stop()
    }
}
