import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct HTTPSClientTests {
    /// A server that gives the same answer to each request once it has seen the end of the header.
    private func withServer<Result>(
        tls: TLSServerContext?,
        answer: String,
        _ body: (_ port: UInt16, _ requests: LoopConfined<StreamProbe>, _ loop: EventLoop) async throws -> Result
    ) async throws -> Result {
        try await withLoop { loop in
            let requests = LoopConfined(StreamProbe(), on: loop)
            let port = try await loop.run {
                requests.value.servesMany = true
                requests.value.onReceived = { stream, bytes in
                    guard String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n") else { return }
                    guard !answer.isEmpty else { return }
                    stream.write(Array(answer.utf8))
                    stream.closeAfterFlush(deadline: .seconds(5))
                }
                return try Listener(.tcp(host: "127.0.0.1", port: 0), tls: tls, on: loop) { _ in requests.value }.port
            }
            return try await body(port, requests, loop)
        }
    }

    private static let good = "HTTP/1.1 201 Created\r\nX-One: a: b\r\nx-two:c\r\nContent-Length: 5\r\n\r\nhello"

    @Test("A request over TLS carries method, headers and body, and the answer comes back whole")
    func request() async throws {
        try await withServer(tls: try TestTrust.server(), answer: Self.good) { port, requests, loop in
            var request = HTTPSClient.Request("POST", "https://localhost:\(port)/path?x=1")
            request.extraCA = try TestTrust.authority.get().certificatePEM
            request.headers = [("content-type", "text/x-test"), ("x-more", "yes")]
            request.body = Array("the body".utf8)
            let response = try await HTTPSClient.perform(request)
            #expect(response.status == 201)
            #expect(response.body == Array("hello".utf8))
            #expect(response.header("X-ONE") == "a: b")
            #expect(response.header("X-Two") == "c")
            let sent = try await loop.run { String(decoding: requests.value.received, as: UTF8.self) }
            #expect(sent.hasPrefix("POST /path?x=1 HTTP/1.1\r\n"))
            #expect(sent.contains("content-type: text/x-test\r\n") && sent.contains("x-more: yes\r\n"))
            #expect(sent.hasSuffix("\r\n\r\nthe body"))
        }
    }

    @Test("The answer can be handed to a loop, over plain HTTP on loopback")
    func onLoop() async throws {
        try await withServer(tls: nil, answer: Self.good) { port, _, loop in
            let log = LoopConfined(Log<Int>([]), on: loop)
            try await loop.run {
                HTTPSClient.perform(.init("GET", "http://127.0.0.1:\(port)/"), on: loop) { result in
                    log.value.entries.append((try? result.get().status) ?? 0)
                }
            }
            try await loop.wait(for: "the answer") { log.value.entries == [201] }
        }
    }

    @Test("An empty body is sent as one")
    func emptyBody() async throws {
        try await withServer(tls: nil, answer: Self.good) { port, requests, loop in
            var request = HTTPSClient.Request("POST", "http://127.0.0.1:\(port)/")
            request.body = []
            #expect(try await HTTPSClient.perform(request).body == Array("hello".utf8))
            let sent = try await loop.run { String(decoding: requests.value.received, as: UTF8.self) }
            #expect(sent.contains("Content-Length: 0\r\n"))
        }
    }

    @Test("A certificate that is not trusted, or is for another name, is refused", arguments: [true, false])
    func verification(isTrusted: Bool) async throws {
        let server = try TestTrust.server(hosts: ["other.example.com"])
        try await withServer(tls: server, answer: Self.good) { port, _, _ in
            var request = HTTPSClient.Request("GET", "https://localhost:\(port)/")
            if isTrusted { request.extraCA = try TestTrust.authority.get().certificatePEM }
            await expectFailure(request) { error in
                guard case .tls = error else { return false }
                return true
            }
        }
    }

    @Test("Redirects are not followed")
    func redirect() async throws {
        let answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
        try await withServer(tls: nil, answer: answer) { port, _, _ in
            let response = try await HTTPSClient.perform(.init("GET", "http://127.0.0.1:\(port)/"))
            #expect(response.status == 302)
            #expect(response.header("location") == "http://127.0.0.1:1/")
        }
    }

    @Test("An answer over the limit is refused, in its body and in its header", arguments: [true, false])
    func limit(inBody: Bool) async throws {
        let padding = String(repeating: "x", count: 5000)
        let answer =
            inBody
            ? "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n\(padding)"
            : "HTTP/1.1 200 OK\r\nX: \(padding)\r\nContent-Length: 0\r\n\r\n"
        try await withServer(tls: nil, answer: answer) { port, _, _ in
            var request = HTTPSClient.Request("GET", "http://127.0.0.1:\(port)/")
            request.maximumBytes = 6000
            let accepted = try await HTTPSClient.perform(request)
            #expect(accepted.status == 200)
            request.maximumBytes = 4999
            await expectFailure(request) { $0.description.contains("larger than 4999 bytes") }
        }
    }

    @Test("A server that stays silent ends at the deadline")
    func silent() async throws {
        try await withServer(tls: nil, answer: "") { port, _, _ in
            var request = HTTPSClient.Request("GET", "http://127.0.0.1:\(port)/")
            request.deadline = .milliseconds(100)
            await expectFailure(request) { error in
                guard case .deadline = error else { return false }
                return true
            }
        }
    }

    @Test(
        "URLs that are not https, or http on loopback, are refused before anything is sent",
        arguments: [
            "http://example.com/", "ftp://127.0.0.1/", "file:///etc/passwd", "nonsense", "",
            "https://user:x@example.com/",
            "http://127.0.0.1.example.com/", "http://[::2]/", "http://localhost.example.com/",
        ]
    )
    func urls(url: String) async {
        await expectFailure(.init("GET", url)) { error in
            guard case .unusable = error else { return false }
            return true
        }
    }

    @Test("A proxy is asked for what is not on loopback, and a host without an address says so")
    func proxy() async throws {
        let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
        try await withServer(tls: nil, answer: answer) { port, requests, loop in
            var request = HTTPSClient.Request("GET", "https://token.example.invalid/")
            request.proxy = .url("http://127.0.0.1:\(port)")
            await expectFailure(request) { _ in true }
            let sent = try await loop.run { String(decoding: requests.value.received, as: UTF8.self) }
            #expect(sent.hasPrefix("CONNECT token.example.invalid:443 HTTP/1.1\r\n"))
            request.proxy = .none
            await expectFailure(request) { error in
                guard case .resolution = error else { return false }
                return true
            }
        }
    }

    private func expectFailure(
        _ request: HTTPSClient.Request,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ isExpected: (TransportError) -> Bool
    ) async {
        do {
            let response = try await HTTPSClient.perform(request)
            Issue.record("answered with \(response.status)", sourceLocation: sourceLocation)
        } catch let error as TransportError {
            #expect(isExpected(error), "failed with \(error)", sourceLocation: sourceLocation)
        } catch {
            Issue.record("failed with \(error)", sourceLocation: sourceLocation)
        }
    }
}
