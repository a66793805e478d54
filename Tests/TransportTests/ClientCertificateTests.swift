import TestSupport
import Testing
import Transport

/// Servers that ask clients for a certificate.
@Suite(.timeLimit(.minutes(1))) struct ClientCertificateTests {
    enum Shown: CaseIterable {
        case none, good, expired, ofAnother
    }

    private func certificate(_ shown: Shown) throws -> CertifiedKey? {
        let authority = try TestTrust.authority.get()
        return switch shown {
        case .none: nil
        case .good: try authority.issue(hosts: ["client"], userID: "com.example.app")
        case .expired: try authority.issue(hosts: ["client"], secondsFromNow: -7200...(-3600))
        case .ofAnother: try CertificateAuthority(name: "another").issue(hosts: ["client"])
        }
    }

    @Test(
        "A client's certificate is verified, and its lack refused if one is demanded",
        arguments: Shown.allCases,
        [false, true]
    )
    func verified(shown: Shown, isDemanded: Bool) async throws {
        let authority = try TestTrust.authority.get()
        let key = try authority.issue(hosts: ["localhost"])
        let server = try TLSServerContext(
            certificateChainPEM: key.chainPEM,
            keyPEM: key.keyPEM,
            clients: .init(authorityPEM: authority.certificatePEM, isDemanded: isDemanded)
        )
        let client = try TLSClientContext(
            extraCA: authority.certificatePEM,
            clientCertificate: try certificate(shown)
        )
        try await withLoop { loop in
            let probes = LoopConfined((client: StreamProbe(), server: StreamProbe()), on: loop)
            try await loop.run {
                let (near, far) = probes.value
                let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), tls: server, on: loop) { stream in
                    far.stream = stream
                    return far
                }
                near.stream = .connect(
                    to: .tcp(host: "127.0.0.1", port: listener.port),
                    tls: client,
                    serverName: "localhost",
                    on: loop,
                    handler: near
                )
            }
            try await loop.wait(for: "the handshake") {
                probes.value.server.isConnected || probes.value.server.isClosed
            }
            let isGood = shown == .good || (shown == .none && !isDemanded)
            let name = try await loop.run {
                #expect(probes.value.server.isConnected == isGood, "\(probes.value.server.events)")
                return probes.value.server.stream?.peerCertificate?.userID
            }
            #expect(name == (shown == .good ? "com.example.app" : nil))
            guard !isGood else { return }
            // With TLS 1.3 the client learns of it after its own end of the handshake.
            try await loop.wait(for: "the refusal") { probes.value.client.isClosed }
            let error = try await loop.run { probes.value.client.closeError }
            #expect("\(String(describing: error))".contains("alert"))
        }
    }
}
