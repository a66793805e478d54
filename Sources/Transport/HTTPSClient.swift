import Glibc

/// Single HTTPS requests, for what is rare: a token, a check.
///
/// Each runs on a thread of its own within its deadline.
///
/// Redirects are not followed. Certificates and host names are always verified, with TLS 1.2 or later. Plain `http` is
/// for the loopback addresses only.
package enum HTTPSClient {
    /// Which proxy leads to the server; never for loopback.
    package enum Proxy: Equatable, Sendable {
        /// As the variables `https_proxy`, `no_proxy` and so on say.
        case environment
        case none
        case url(String)
        case rules(ProxyRules)
    }

    package struct Request: Sendable {
        package var method: String
        package var url: String
        package var headers: [(name: String, value: String)] = []
        package var body: [UInt8]?
        /// Trusted besides the system's store; PEM.
        package var extraCA: [UInt8]?
        package var proxy = Proxy.environment
        package var deadline = Duration.seconds(10)
        /// For the header and for the body, each.
        package var maximumBytes = 65_536

        package init(_ method: String, _ url: String) {
            self.method = method
            self.url = url
        }
    }

    package struct Response: Sendable {
        package var status: Int
        /// As they came; names in the server's spelling.
        package var headers: [(name: String, value: String)]
        package var body: [UInt8]

        /// The first header of the name, which compares without regard to case.
        package func header(_ name: String) -> String? {
            let wanted = name.lowercased()
            return headers.first { $0.name.lowercased() == wanted }?.value
        }
    }

    /// Waits for the answer; from any task.
    package static func perform(_ request: Request) async throws -> Response {
        try await withCheckedThrowingContinuation { continuation in
            start(request) { continuation.resume(with: $0) }
        }
    }

    /// Hands the answer to the loop; loop only.
    package static func perform(
        _ request: Request,
        on loop: EventLoop,
        then: @escaping (Result<Response, TransportError>) -> Void
    ) {
        let continuation = LoopConfined(then, on: loop)
        start(request) { result in
            loop.execute { continuation.value(result) }
        }
    }

    private static func start(
        _ request: Request,
        _ report: @escaping @Sendable (Result<Response, TransportError>) -> Void
    ) {
        do {
            try startThread(named: "https") {
                report(Result { () throws(TransportError) in try CurlTransfer(request).run() })
            }
        } catch {
            report(.failure(error))
        }
    }
}
