import Transport

/// The kinds of byte stream that behave alike.
enum StreamKind: String, CaseIterable {
    case tcp, unix, tlsOverTCP, tlsOverUnix

    var hasTLS: Bool { self == .tlsOverTCP || self == .tlsOverUnix }

    /// Where to listen.
    ///
    /// The number of the process and a counter keep paths apart.
    func makeEndpoint() -> Endpoint {
        switch self {
        case .tcp, .tlsOverTCP: .tcp(host: "127.0.0.1", port: 0)
        case .unix, .tlsOverUnix: .unix(path: uniqueSocketPath())
        }
    }
}

func uniqueSocketPath() -> String {
    "/tmp/transport-test-\(UInt64.random(in: 0...UInt64.max)).sock"
}

/// A listener, one client and the stream that was accepted for it.
///
/// Confined to the loop.
final class StreamPair {
    let listener: Listener
    let client: StreamProbe
    let server: StreamProbe

    init(listener: Listener, client: StreamProbe, server: StreamProbe) {
        self.listener = listener
        self.client = client
        self.server = server
    }
}

/// One authority for all tests: making keys takes a while under sanitizers.
enum TestTrust {
    static let authority = Result { try CertificateAuthority(name: "test authority") }
    // Reading the system's store takes tens of milliseconds each time.
    static let usualServer = Result { try server() }
    static let usualClient = Result { try client() }

    static func server(hosts: [String] = ["localhost", "127.0.0.1"], alpn: [String] = []) throws -> TLSServerContext {
        let key = try authority.get().issue(hosts: hosts)
        return try TLSServerContext(certificateChainPEM: key.chainPEM, keyPEM: key.keyPEM, alpn: alpn)
    }

    static func client(alpn: [String] = []) throws -> TLSClientContext {
        try TLSClientContext(extraCA: try authority.get().certificatePEM, alpn: alpn)
    }
}

extension EventLoop {
    /// Connects a pair on the loop; `prepare` sets the probes up before anything happens.
    func pair(
        _ kind: StreamKind,
        prepare: @escaping @Sendable (_ client: StreamProbe, _ server: StreamProbe) -> Void = { _, _ in }
    ) async throws -> LoopConfined<StreamPair> {
        let serverTLS = kind.hasTLS ? try TestTrust.usualServer.get() : nil
        let clientTLS = kind.hasTLS ? try TestTrust.usualClient.get() : nil
        return try await run {
            let client = StreamProbe()
            let server = StreamProbe()
            prepare(client, server)
            let listener = try Listener(kind.makeEndpoint(), tls: serverTLS, on: self) { stream in
                server.stream = stream
                return server
            }
            var endpoint = listener.endpoint
            if case .tcp(let host, _) = endpoint { endpoint = .tcp(host: host, port: listener.port) }
            client.stream = .connect(to: endpoint, tls: clientTLS, serverName: "localhost", on: self, handler: client)
            return LoopConfined(StreamPair(listener: listener, client: client, server: server), on: self)
        }
    }
}
