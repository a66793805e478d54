import Synchronization
import TestSupport
import Testing
import Transport

@Suite("HTTP server", .timeLimit(.minutes(1)))
struct HTTPServerTests {
    private func echo(host: String = "127.0.0.1", maximumBodyBytes: Int = 1 << 20) throws -> HTTPServer {
        try HTTPServer(host: host, port: 0, maximumBodyBytes: maximumBodyBytes) { request in
            guard request.path == "/echo" else { return HTTPServerResponse(status: 404, body: []) }
            let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
            let text = "\(request.method) \(query) \(request.body.count)"
            return HTTPServerResponse(status: 200, headers: [(name: "x-seen", value: "yes")], body: Array(text.utf8))
        }
    }

    private func request(_ method: String, _ path: String, _ server: HTTPServer, body: [UInt8]? = nil) async throws
        -> HTTPSClient.Response
    {
        var request = HTTPSClient.Request(method, "http://127.0.0.1:\(server.port)\(path)")
        request.body = body
        return try await HTTPSClient.perform(request)
    }

    /// Sends the bytes on a connection of their own, then hands over all that came back when `isEnough` holds or the
    /// server has closed.
    private func exchange(
        _ bytes: String,
        _ server: HTTPServer,
        isEnough: @escaping @Sendable (String) -> Bool = { _ in false }
    ) async throws -> String {
        try await withLoop { loop in
            let probe = LoopConfined(StreamProbe(), on: loop)
            try await loop.run {
                probe.value.onConnected = { $0.write(Array(bytes.utf8)) }
                probe.value.stream = ByteStream.connect(
                    to: .tcp(host: "127.0.0.1", port: server.port),
                    on: loop,
                    handler: probe.value
                )
            }
            try await loop.wait(for: "the answer") {
                probe.value.isClosed || isEnough(String(decoding: probe.value.received, as: UTF8.self))
            }
            return try await loop.run {
                probe.value.stream?.close()
                probe.value.stream = nil
                return String(decoding: probe.value.received, as: UTF8.self)
            }
        }
    }

    @Test("Method, query and body reach the handler, and its status, headers and body come back")
    func roundTrip() async throws {
        let server = try echo()
        let got = try await request("GET", "/echo?a=1&b=x%20y&c", server)
        #expect(String(decoding: got.body, as: UTF8.self) == "GET a=1,b=x y,c= 0")
        #expect(got.header("x-seen") == "yes")
        #expect(got.header("content-type") == "text/plain; charset=utf-8")
        let posted = try await request("POST", "/echo", server, body: [UInt8](repeating: 7, count: 200_000))
        #expect(String(decoding: posted.body, as: UTF8.self) == "POST  200000")
        #expect(try await request("GET", "/other", server).status == 404)
        server.stop()
    }

    @Test("Path and body come as sent, header names in lower case")
    func request() async throws {
        let seen = Mutex<HTTPServerRequest?>(nil)
        let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
            seen.withLock { $0 = request }
            return HTTPServerResponse(status: 204, body: [])
        }
        var request = HTTPSClient.Request("PUT", "http://127.0.0.1:\(server.port)/a%20b/c")
        request.headers = [(name: "X-Mixed-Case", value: "Value")]
        request.body = [0, 1, 0xFF]
        #expect(try await HTTPSClient.perform(request).status == 204)
        let got = try #require(seen.withLock { $0 })
        #expect(got.method == "PUT" && got.path == "/a b/c" && got.body == [0, 1, 0xFF])
        #expect(got.headers.contains { $0.name == "x-mixed-case" && $0.value == "Value" })
    }

    @Test(
        "A host may be an address of either kind or a local name",
        arguments: ["127.0.0.1", "localhost", "::", "::1"]
    )
    func hosts(host: String) async throws {
        let server = try echo(host: host)
        let name = host == "::1" ? "[::1]" : host == "::" ? "127.0.0.1" : host
        let response = try await HTTPSClient.perform(.init("GET", "http://\(name):\(server.port)/echo"))
        #expect(response.status == 200)
    }

    @Test("A body over the limit is answered with 413", arguments: [(1000, 200), (1001, 413), (2_000_000, 413)])
    func tooLarge(size: Int, status: Int) async throws {
        let server = try echo(maximumBodyBytes: 1000)
        #expect(try await request("POST", "/echo", server, body: [UInt8](repeating: 7, count: size)).status == status)
        #expect(try await request("GET", "/echo", server).status == 200)
    }

    @Test(
        "A body that is announced far too large, or that the client asks about, is refused before it is sent",
        arguments: [
            "Content-Length: 99999999999", "Content-Length: 99999999999999999999",
            "Content-Length: 1001\r\nExpect: 100-continue",
        ]
    )
    func hopeless(headers: String) async throws {
        let server = try echo(maximumBodyBytes: 1000)
        let answer = try await exchange("POST /echo HTTP/1.1\r\nHost: a\r\n\(headers)\r\n\r\n", server)
        #expect(answer.hasPrefix("HTTP/1.1 413 "))
        #expect(!answer.contains("100 Continue"))
    }

    @Test("A body in chunks is put together", arguments: [(5, "200"), (6, "413")])
    func chunks(limit: Int, status: String) async throws {
        let server = try echo(maximumBodyBytes: limit == 5 ? 1000 : 4)
        let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        let answer = try await exchange(head + "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nTrailer: z\r\n\r\n", server)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.hasSuffix("POST  5") == (limit == 5))
    }

    @Test("A body in chunks that goes on and on ends the connection")
    func endlessChunks() async throws {
        let server = try echo(maximumBodyBytes: 1000)
        let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1400000\r\n"
        let answer = try await exchange(head + String(repeating: "a", count: 0x1400000), server)
        #expect(answer.isEmpty)
    }

    @Test("Requests on one connection are answered in their order")
    func keepAlive() async throws {
        let server = try echo()
        let requests = (1...3).map { "GET /echo?n=\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
        let answers = try await exchange(requests, server) { $0.contains("n=3 0") }
        #expect(answers.split(separator: "HTTP/1.1 200 ").count == 3)
        let places = (1...3).compactMap { answers.firstRange(of: "GET n=\($0) 0")?.lowerBound }
        #expect(places.count == 3 && places == places.sorted())
    }

    private static let head = "POST /echo HTTP/1.1\r\nHost: a\r\n"
    private static let brokenRequests = [
        "words": "hello\r\n\r\n",
        "TLS": "\u{16}\u{3}\u{1}\r\n\r\n",
        "another version": "GET /echo HTTP/9.9\r\nHost: a\r\n\r\n",
        "a negative length": head + "Content-Length: -1\r\n\r\n",
        "a length with letters": head + "Content-Length: 1x\r\n\r\n",
        "a chunk without a size": head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "a chunk of an impossible size": head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        "a long path": "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
        "a long header": "\(head)x: \(String(repeating: "a", count: 100_000))\r\n\r\n",
    ]

    @Test(
        "A broken request gets an error or a closed connection, and the server goes on",
        arguments: brokenRequests.keys.sorted()
    )
    func broken(name: String) async throws {
        let server = try echo()
        let answer = try await exchange(try #require(Self.brokenRequests[name]), server)
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4") || answer.hasPrefix("HTTP/1.1 5"))
        #expect(try await request("GET", "/echo", server).status == 200)
    }

    @Test("A client that leaves in the middle of its request does no harm")
    func leavingClient() async throws {
        let server = try echo()
        let part = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"
        _ = try await exchange(part, server) { _ in true }
        #expect(try await request("GET", "/echo", server).status == 200)
    }

    @Test("An address that is taken is an error that names it and says so")
    func taken() throws {
        let server = try echo()
        let error = #expect(throws: TransportError.self) {
            _ = try HTTPServer(host: "127.0.0.1", port: server.port) { _ in HTTPServerResponse(status: 200, body: []) }
        }
        #expect(error?.description.contains("127.0.0.1:\(server.port)") == true)
        #expect(error?.description.contains("in use") == true)
    }

    @Test("A port is free again after stop, which may be called more than once")
    func portAfterStop() throws {
        let first = try echo()
        first.stop()
        first.stop()
        let second = try HTTPServer(host: "127.0.0.1", port: first.port) { _ in
            HTTPServerResponse(status: 200, body: [])
        }
        #expect(second.port == first.port)
    }

    @Test("Requests at the same time are all answered")
    func concurrent() async throws {
        let server = try echo()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 {
                group.addTask { try await self.request("GET", "/echo", server).status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == [Int](repeating: 200, count: 20))
    }

    @Test("The request that runs is answered before stop returns")
    func stopWhileRunning() async throws {
        try await withLoop { loop in
            let events = Recorder<String>(on: loop)
            let stopper = try SideThread(named: "stopper")
            let made = Mutex<HTTPServer?>(nil)
            let server = try HTTPServer(host: "127.0.0.1", port: 0) { _ in
                let server = made.withLock { $0 }
                stopper.run {
                    server?.stop()
                    events.record("stopped")
                }
                // Many turns of a loop, so that stop has begun in all likelihood; it may also begin later.
                for _ in 0..<1000 { _ = loop.wait(within: .seconds(1)) { 0 } }
                events.record("finished")
                return HTTPServerResponse(status: 200, body: [])
            }
            made.withLock { $0 = server }
            #expect(try await request("GET", "/", server).status == 200)
            #expect(try await events.first(2) == ["finished", "stopped"])
            made.withLock { $0 = nil }
        }
    }

    @Test("A thread may wait for a loop, and is not held by one that is busy or has ended")
    func waiting() async throws {
        let loop = try EventLoop.onNewThread(named: "test")
        #expect(loop.wait(within: .seconds(10)) { 42 } == 42)
        let isHeld = Mutex(true)
        loop.execute {
            let end = LoopInstant.current + .seconds(20)
            while isHeld.withLock({ $0 }), LoopInstant.current < end {}
        }
        #expect(loop.wait(within: .milliseconds(10)) { 42 } == nil)
        isHeld.withLock { $0 = false }
        loop.stop()
        // The loop's thread takes a moment to end; from then on the answer is nil, at once.
        let start = LoopInstant.current
        while loop.wait(within: .seconds(20), for: { 42 }) != nil, LoopInstant.current - start < .seconds(10) {}
        #expect(LoopInstant.current - start < .seconds(10))
    }
}
