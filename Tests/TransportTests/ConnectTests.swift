import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct ConnectTests {
    /// Connects and gives the error that ended it.
    private func failure(
        to endpoint: Endpoint,
        tls: TLSClientContext? = nil,
        deadline: Duration = .seconds(10),
        on loop: EventLoop
    ) async throws -> TransportError? {
        let probe = LoopConfined(StreamProbe(), on: loop)
        try await loop.run {
            probe.value.stream = .connect(to: endpoint, tls: tls, deadline: deadline, on: loop, handler: probe.value)
        }
        try await loop.wait(for: "the failure") { probe.value.isClosed }
        return try await loop.run {
            #expect(!probe.value.isConnected)
            #expect(probe.value.closeCount == 1)
            return probe.value.closeError
        }
    }

    @Test("A refused connection says so and names the endpoint")
    func refused() async throws {
        try await withLoop { loop in
            // Never given out by the system, as a port that was free a moment ago may be.
            let port: UInt16 = 1
            let endpoint = Endpoint.tcp(host: "127.0.0.1", port: port)
            let error = try await failure(to: endpoint, on: loop)
            #expect(error == .connect(endpoint: endpoint, reason: "Connection refused"))
            #expect(error?.description == "no connection to 127.0.0.1:\(port): Connection refused")
        }
    }

    @Test("A unix socket that is not there, and a path that is too long, say so")
    func unixPaths() async throws {
        try await withLoop { loop in
            let missing = Endpoint.unix(path: uniqueSocketPath())
            #expect(
                try await failure(to: missing, on: loop)
                    == .connect(endpoint: missing, reason: "No such file or directory")
            )
            let long = try await failure(to: .unix(path: String(repeating: "x", count: 200)), on: loop)
            guard case .unusable = long else {
                Issue.record("ended with \(String(describing: long))")
                return
            }
        }
    }

    @Test("A host name without an address says so")
    func unresolvable() async throws {
        try await withLoop { loop in
            let error = try await failure(to: .tcp(host: "no-such-host.invalid", port: 1), on: loop)
            guard case .resolution("no-such-host.invalid", _) = error else {
                Issue.record("ended with \(String(describing: error))")
                return
            }
        }
    }

    @Test("A peer that accepts and stays silent ends at the deadline")
    func silentPeer() async throws {
        try await withLoop { loop in
            let server = LoopConfined(StreamProbe(), on: loop)
            let listener = try await loop.run {
                LoopConfined(
                    try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in server.value },
                    on: loop
                )
            }
            let port = try await loop.run { listener.value.port }
            let tls = try TLSClientContext()
            let start = LoopInstant.current
            let error = try await failure(
                to: .tcp(host: "127.0.0.1", port: port),
                tls: tls,
                deadline: .milliseconds(100),
                on: loop
            )
            #expect(LoopInstant.current - start >= .milliseconds(100))
            guard case .deadline = error else {
                Issue.record("ended with \(String(describing: error))")
                return
            }
            try await loop.wait(for: "the server's end") { server.value.isClosed }
        }
    }

    @Test("A TLS listener ends a client that stays silent, and one that talks nonsense", arguments: [false, true])
    func silentClient(talks: Bool) async throws {
        try await withLoop { loop in
            let server = LoopConfined(StreamProbe(), on: loop)
            let client = LoopConfined(StreamProbe(), on: loop)
            let context = try TestTrust.server()
            try await loop.run {
                let listener = try Listener(
                    .tcp(host: "127.0.0.1", port: 0),
                    tls: context,
                    handshakeDeadline: talks ? .seconds(20) : .milliseconds(50),
                    on: loop
                ) { _ in server.value }
                client.value.stream = .connect(
                    to: .tcp(host: "127.0.0.1", port: listener.port),
                    on: loop,
                    handler: client.value
                )
                if talks { client.value.stream?.write(Array("GET / HTTP/1.1\r\n\r\n".utf8)) }
            }
            try await loop.wait(for: "the end") { server.value.isClosed && client.value.isClosed }
            try await loop.run {
                #expect(!server.value.isConnected)
                switch server.value.closeError {
                case .deadline: #expect(!talks)
                case .tls: #expect(talks)
                default: Issue.record("ended with \(String(describing: server.value.closeError))")
                }
            }
        }
    }

    @Test("A host name with several addresses is reached by the one that listens")
    func severalAddresses() async throws {
        try await withLoop { loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            try await loop.run {
                let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in StreamProbe() }
                probe.value.stream = .connect(
                    to: .tcp(host: "localhost", port: listener.port),
                    on: loop,
                    handler: probe.value
                )
            }
            try await loop.wait(for: "the connection") { probe.value.isConnected }
        }
    }

    @Test("Closing at each step of connecting leaves nothing behind")
    func closeWhileConnecting() async throws {
        try await withLoop { loop in
            let context = try TestTrust.client()
            for host in ["127.0.0.1", "localhost", "no-such-host.invalid"] {
                let probe = LoopConfined(StreamProbe(), on: loop)
                try await loop.run {
                    let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in StreamProbe() }
                    probe.value.stream = .connect(
                        to: .tcp(host: host, port: listener.port),
                        tls: context,
                        on: loop,
                        handler: probe.value
                    )
                    probe.value.stream?.write([1])
                    if host == "localhost" { probe.value.stream?.close() }
                    loop.atEndOfTurn { probe.value.stream?.close() }
                }
                try await loop.wait(for: "the end") { probe.value.isClosed }
                try await loop.run {
                    #expect(probe.value.closeError == nil && probe.value.closeCount == 1)
                    #expect(!probe.value.isConnected)
                }
            }
        }
    }

    @Test("A listener refuses a stream for which it gets no handler, and an address in use says so")
    func listener() async throws {
        try await withLoop { loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            try await loop.run {
                let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in nil }
                let endpoint = Endpoint.tcp(host: "127.0.0.1", port: listener.port)
                probe.value.stream = .connect(to: endpoint, on: loop, handler: probe.value)
                #expect(throws: TransportError.self) { try Listener(endpoint, on: loop) { _ in nil } }
            }
            try await loop.wait(for: "the refusal") { probe.value.isClosed }
        }
    }

    @Test("Fifty connections of each kind, and fifty failed ones, leave no descriptor open")
    func noLeaks() async {
        await #expect(processExitsWith: .success) { try await connectOften() }
    }
}

/// Runs in a process of its own, so that nothing else opens descriptors meanwhile.
private func connectOften() async throws {
    try await withLoop { loop in
        var before: Int?
        for round in 0..<50 {
            for kind in StreamKind.allCases { try await connectOnce(kind, on: loop) }
            try await failedConnect(on: loop)
            if round == 1 { before = openDescriptorCount() }
        }
        let after = openDescriptorCount()
        try #require(before == after, "\(before ?? -1) descriptors before, \(after) after")
    }
}

private func openDescriptorCount() -> Int {
    (0..<2000).count { File.exists("/proc/self/fd/\($0)") }
}

private func connectOnce(_ kind: StreamKind, on loop: EventLoop) async throws {
    let pair = try await loop.pair(kind) { client, _ in
        client.onConnected = { $0.closeAfterFlush(deadline: .seconds(10)) }
    }
    try await loop.wait(for: "the end") { pair.value.client.isClosed && pair.value.server.isClosed }
    try await loop.run { pair.value.listener.close() }
}

private func failedConnect(on loop: EventLoop) async throws {
    let probe = LoopConfined(StreamProbe(), on: loop)
    try await loop.run {
        let missing = Endpoint.unix(path: uniqueSocketPath())
        probe.value.stream = .connect(to: missing, on: loop, handler: probe.value)
    }
    try await loop.wait(for: "the failure") { probe.value.isClosed }
}
