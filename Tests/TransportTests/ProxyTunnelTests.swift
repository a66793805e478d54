import TestSupport
import Testing
import Transport

@Suite("A stream through a proxy", .timeLimit(.minutes(1)))
struct ProxyTunnelTests {
    private static let target = Endpoint.tcp(host: "push.example.invalid", port: 443)

    /// Answers the first request with the pieces, each in a turn of its own; what comes after is echoed.
    private final class Proxy: ByteStreamHandler {
        private(set) var request: [UInt8] = []
        private var pieces: [String]
        private var isTunnel = false

        init(_ pieces: [String]) { self.pieces = pieces }

        func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
            if isTunnel { return stream.write(bytes) }
            request += bytes.copiedBytes
            guard request.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) else { return }
            isTunnel = true
            answer(stream)
        }

        private func answer(_ stream: ByteStream) {
            guard !pieces.isEmpty else { return }
            stream.write(Array(pieces.removeFirst().utf8))
            stream.loop.schedule(after: .milliseconds(5)) { self.answer(stream) }
        }

        func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {}
    }

    private func withProxy(
        answering pieces: [String],
        userInfo: String = "",
        deadline: Duration = .seconds(10),
        _ body: (EventLoop, LoopConfined<StreamProbe>, () async throws -> String) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let proxy = LoopConfined(Proxy(pieces), on: loop)
            let probe = LoopConfined(StreamProbe(), on: loop)
            let listener = try await loop.run {
                let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in proxy.value }
                probe.value.stream = .connect(
                    to: Self.target,
                    through: try HTTPProxy("http://\(userInfo)127.0.0.1:\(listener.port)"),
                    deadline: deadline,
                    on: loop,
                    handler: probe.value
                )
                return LoopConfined(listener, on: loop)
            }
            try await body(loop, probe) {
                try await loop.run { String(decoding: proxy.value.request, as: UTF8.self) }
            }
            try await loop.run { listener.value.close() }
        }
    }

    @Test(
        "The proxy is asked for the target by its name, and what follows its answer belongs to the stream",
        arguments: [
            ["HTTP/1.1 200 Connection established\r\n\r\n"],
            ["HTTP/1.0 200 OK\r\nVia: x\r\n", "\r\n"],
            ["H", "TTP/1.1 299 \r", "\n\r", "\nand more"],
        ]
    )
    func tunnel(pieces: [String]) async throws {
        try await withProxy(answering: pieces, userInfo: "me:p%40ss@") { loop, probe, request in
            try await loop.wait(for: "the connection") { probe.value.isConnected }
            #expect(
                try await request() == "CONNECT push.example.invalid:443 HTTP/1.1\r\nHost: push.example.invalid:443\r\n"
                    // `printf 'me:p@ss' | base64`
                    + "Proxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n"
            )
            try await loop.run { probe.value.stream?.write(Array("hello".utf8)) }
            let expected = pieces.last?.hasSuffix("and more") == true ? "and morehello" : "hello"
            try await loop.wait(for: "the echo") { probe.value.received == Array(expected.utf8) }
        }
    }

    @Test(
        "A proxy that makes no tunnel is an error that names it and says why",
        arguments: [
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "it answered \"HTTP/1.1 403 Forbidden\""),
            (
                "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
                "it wants another user and password: \"HTTP/1.1 407 Proxy Authentication Required\""
            ),
            ("SSH-2.0-x\u{7}\r\n\r\n", "it does not speak HTTP: \"SSH-2.0-x?\""),
            (String(repeating: "x", count: 20_000), "its answer has no end"),
        ]
    )
    func refusal(answer: String, expected: String) async throws {
        try await withProxy(answering: [answer]) { loop, probe, _ in
            try await loop.wait(for: "the end") { probe.value.isClosed }
            try await loop.run {
                guard case .connect(Self.target, let reason) = probe.value.closeError else {
                    Issue.record("ended with \(String(describing: probe.value.closeError))")
                    return
                }
                #expect(reason.hasPrefix("the proxy 127.0.0.1:") && reason.hasSuffix(expected))
            }
        }
    }

    @Test("A proxy that says nothing ends at the deadline of the whole attempt")
    func silentProxy() async throws {
        try await withProxy(answering: [], deadline: .milliseconds(100)) { loop, probe, _ in
            try await loop.wait(for: "the end") { probe.value.isClosed }
            try await loop.run {
                guard case .deadline = probe.value.closeError else {
                    Issue.record("ended with \(String(describing: probe.value.closeError))")
                    return
                }
            }
        }
    }

    @Test("A proxy that is not there is named in the error")
    func absentProxy() async throws {
        try await withLoop { loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            try await loop.run {
                probe.value.stream = .connect(
                    to: Self.target,
                    through: try HTTPProxy("127.0.0.1:1"),
                    on: loop,
                    handler: probe.value
                )
            }
            try await loop.wait(for: "the end") { probe.value.isClosed }
            try await loop.run {
                let reason = "the proxy 127.0.0.1:1: Connection refused"
                #expect(probe.value.closeError == .connect(endpoint: Self.target, reason: reason))
            }
        }
    }
}
