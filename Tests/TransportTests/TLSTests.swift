import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct TLSTests {
    /// What a client sees that connects by TLS under a name: the protocol, or the error.
    private func outcome(
        client: TLSClientContext,
        server: TLSServerContext,
        serverName: String
    ) async throws -> (connected: Bool, alpn: String?, error: TransportError?) {
        try await withLoop { loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            try await loop.run {
                let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), tls: server, on: loop) { _ in
                    StreamProbe()
                }
                probe.value.stream = .connect(
                    to: .tcp(host: "127.0.0.1", port: listener.port),
                    tls: client,
                    serverName: serverName,
                    on: loop,
                    handler: probe.value
                )
            }
            try await loop.wait(for: "the handshake") { probe.value.isConnected || probe.value.isClosed }
            return try await loop.run {
                (probe.value.isConnected, probe.value.stream?.negotiatedProtocol, probe.value.closeError)
            }
        }
    }

    @Test(
        "A certificate is good for exactly its names and addresses",
        arguments: [
            ("api.example.com", true), ("API.example.COM", true), ("a.wild.example.com", true), ("127.0.0.1", true),
            ("::1", true), ("example.com", false), ("a.b.wild.example.com", false), ("wild.example.com", false),
            ("127.0.0.2", false), ("::2", false), ("localhost", false),
        ]
    )
    func names(name: String, isGood: Bool) async throws {
        let server = try TestTrust.server(hosts: ["api.example.com", "*.wild.example.com", "127.0.0.1", "::1"])
        let result = try await outcome(client: try TestTrust.client(), server: server, serverName: name)
        #expect(result.connected == isGood)
        guard !isGood else { return }
        guard case .tls(let text) = result.error else {
            Issue.record("ended with \(String(describing: result.error))")
            return
        }
        #expect(text.contains("mismatch"))
    }

    @Test("A certificate of an authority that is not trusted is refused")
    func unknownAuthority() async throws {
        let result = try await outcome(
            client: try TLSClientContext(),
            server: try TestTrust.server(),
            serverName: "localhost"
        )
        #expect(!result.connected)
        #expect(result.error?.description.contains("certificate is not accepted") == true)
    }

    @Test("A certificate that has expired, or is not valid yet, is refused", arguments: [-7200 ... -3600, 3600...7200])
    func validity(secondsFromNow: ClosedRange<Int>) async throws {
        let key = try TestTrust.authority.get().issue(hosts: ["localhost"], secondsFromNow: secondsFromNow)
        let server = try TLSServerContext(certificateChainPEM: key.chainPEM, keyPEM: key.keyPEM)
        let result = try await outcome(client: try TestTrust.client(), server: server, serverName: "localhost")
        #expect(!result.connected)
        let word = secondsFromNow.lowerBound < 0 ? "expired" : "not yet valid"
        #expect(result.error?.description.contains(word) == true)
    }

    @Test(
        "Both sides agree on a protocol, the server's first choice, or the handshake fails",
        arguments: [
            (["h2"], ["h2"], "h2", true), (["http/1.1", "h2"], ["h2", "http/1.1"], "h2", true),
            ([], ["h2"], nil, true), ([], [], nil, true), (["h2"], ["other"], nil, false), (["h2"], [], nil, false),
            (["h2", "http/1.1"], [], nil, true),
        ] as [([String], [String], String?, Bool)]
    )
    func protocols(offered: [String], spoken: [String], agreed: String?, connects: Bool) async throws {
        let result = try await outcome(
            client: try TestTrust.client(alpn: offered),
            server: try TestTrust.server(alpn: spoken),
            serverName: "localhost"
        )
        #expect(result.connected == connects)
        if connects { #expect(result.alpn == agreed) }
    }

    @Test("Certificates and keys that cannot be used are refused with a reason")
    func unusable() throws {
        let one = try TestTrust.authority.get().issue(hosts: ["a"])
        let other = try TestTrust.authority.get().issue(hosts: ["b"])
        let broken = Array(one.chainPEM.prefix(200)) + Array("\n-----END CERTIFICATE-----\n".utf8)
        for (chain, key) in [
            (one.chainPEM, other.keyPEM), ([], one.keyPEM), (one.chainPEM, []), (broken, one.keyPEM),
            (one.chainPEM + broken, one.keyPEM), (one.keyPEM, one.keyPEM), (one.chainPEM, one.chainPEM),
        ] {
            #expect(throws: TransportError.self) { try TLSServerContext(certificateChainPEM: chain, keyPEM: key) }
        }
        for authority in [[], Array("nothing".utf8), broken] {
            #expect(throws: TransportError.self) { try TLSClientContext(extraCA: authority) }
        }
        #expect(throws: TransportError.self) { try TestTrust.authority.get().issue(hosts: ["a,IP:1.2.3.4"]) }
    }

    @Test("A client shows its certificate, and one without is refused by a server that asks", arguments: [true, false])
    func clientCertificate(isShown: Bool) async throws {
        let folder = try TemporaryFolder()
        let authority = try TestTrust.authority.get()
        let mine = try authority.issue(hosts: ["me"])
        let client = try TLSClientContext(
            extraCA: authority.certificatePEM,
            clientCertificate: isShown ? mine : nil
        )
        try await withOpenSSLServer(["-Verify", "1", "-verify_return_error"], in: folder) { port, loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            try await loop.run {
                probe.value.stream = .connect(
                    to: .tcp(host: "127.0.0.1", port: port),
                    tls: client,
                    on: loop,
                    handler: probe.value
                )
                probe.value.stream?.write(Array("GET / HTTP/1.0\r\n\r\n".utf8))
            }
            if isShown {
                try await loop.wait(for: "the server's page") {
                    let page = String(decoding: probe.value.received, as: UTF8.self).filter { $0 != " " }
                    return page.contains("Subject:CN=me")
                }
            } else {
                try await loop.wait(for: "the refusal") { probe.value.isClosed }
                try await loop.run { #expect(probe.value.closeError?.description.contains("TLS") == true) }
            }
        }
    }

    @Test("A server that speaks TLS 1.1 at most is refused; 1.2 and 1.3 are not", arguments: ["1_1", "1_2", "1_3"])
    func oldServer(version: String) async throws {
        let folder = try TemporaryFolder()
        let options = ["-tls\(version)"] + (version == "1_3" ? [] : ["-cipher", "ALL:@SECLEVEL=0"])
        try await withOpenSSLServer(options, in: folder) { port, loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            let client = try TestTrust.client()
            try await loop.run {
                probe.value.stream = .connect(
                    to: .tcp(host: "127.0.0.1", port: port),
                    tls: client,
                    on: loop,
                    handler: probe.value
                )
            }
            try await loop.wait(for: "the handshake") { probe.value.isConnected || probe.value.isClosed }
            try await loop.run {
                let error = String(describing: probe.value.closeError)
                #expect(probe.value.isConnected == (version != "1_1"), "\(error)")
            }
        }
    }

    @Test("A client that speaks TLS 1.1 at most is refused; 1.2 and 1.3 are not", arguments: ["1_1", "1_2", "1_3"])
    func oldClient(version: String) async throws {
        try await withLoop { loop in
            let server = LoopConfined(StreamProbe(), on: loop)
            let context = try TestTrust.server()
            let port = try await loop.run {
                try Listener(.tcp(host: "127.0.0.1", port: 0), tls: context, on: loop) { _ in server.value }.port
            }
            let options = ["-tls\(version)"] + (version == "1_3" ? [] : ["-cipher", "ALL:@SECLEVEL=0"])
            let child = try ChildProcess(
                "openssl",
                ["s_client", "-connect", "127.0.0.1:\(port)"] + options,
                environment: [:],
                standardOutput: .discard,
                standardError: .discard
            )
            try await loop.wait(for: "the handshake") { server.value.isConnected || server.value.isClosed }
            try await loop.run { #expect(server.value.isConnected == (version != "1_1")) }
            child.kill()
        }
    }

    private static func output(in folder: TemporaryFolder) -> String {
        let bytes = (try? File.read(folder.path(of: "output"))) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Runs OpenSSL's own server with a certificate of the test authority, on a port that the system chooses.
    private func withOpenSSLServer(
        _ options: [String],
        in folder: TemporaryFolder,
        _ body: (UInt16, EventLoop) async throws -> Void
    ) async throws {
        let authority = try TestTrust.authority.get()
        let key = try authority.issue(hosts: ["localhost", "127.0.0.1"])
        try File.write(key.chainPEM, to: folder.path(of: "certificate"))
        try File.write(key.keyPEM, to: folder.path(of: "key"))
        try File.write(authority.certificatePEM, to: folder.path(of: "authority"))
        let server = try ChildProcess(
            "openssl",
            ["s_server", "-www", "-accept", "127.0.0.1:0", "-cert", folder.path(of: "certificate")]
                + ["-key", folder.path(of: "key"), "-CAfile", folder.path(of: "authority")] + options,
            environment: [:],
            standardOutput: .file(path: folder.path(of: "output")),
            standardError: .file(path: folder.path(of: "errors"))
        )
        defer { server.kill() }
        try await withLoop { loop in
            try await loop.wait(for: "the server's port") { Self.output(in: folder).contains("ACCEPT 127") }
            let words = Self.output(in: folder).split(whereSeparator: \.isWhitespace)
            let port = words.lazy.compactMap { $0.split(separator: ":").last }.compactMap { UInt16($0) }.first
            try await body(try #require(port), loop)
        }
    }
}
