import Testing
import Transport

@Suite("HTTP server", .timeLimit(.minutes(1)))
struct HTTPServerTests {
    private func echo(maximumBodyBytes: Int = 1 << 20) throws -> HTTPServer {
        try HTTPServer(host: "127.0.0.1", port: 0, maximumBodyBytes: maximumBodyBytes) { request in
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

    @Test("Method, query and body reach the handler, and its status, headers and body come back")
    func roundTrip() async throws {
        let server = try echo()
        let got = try await request("GET", "/echo?a=1&b=x%20y", server)
        #expect(String(decoding: got.body, as: UTF8.self) == "GET a=1,b=x y 0")
        #expect(got.header("x-seen") == "yes")
        let posted = try await request("POST", "/echo", server, body: [UInt8](repeating: 7, count: 200_000))
        #expect(String(decoding: posted.body, as: UTF8.self) == "POST  200000")
        #expect(try await request("GET", "/other", server).status == 404)
        server.stop()
    }

    @Test("A body over the limit is answered with 413")
    func tooLarge() async throws {
        let server = try echo(maximumBodyBytes: 1000)
        #expect(try await request("POST", "/echo", server, body: [UInt8](repeating: 7, count: 1000)).status == 200)
        #expect(try await request("POST", "/echo", server, body: [UInt8](repeating: 7, count: 1001)).status == 413)
    }

    @Test("An address that is taken is an error that names it")
    func taken() throws {
        let server = try echo()
        let error = #expect(throws: TransportError.self) {
            _ = try HTTPServer(host: "127.0.0.1", port: server.port) { _ in HTTPServerResponse(status: 200, body: []) }
        }
        #expect(error?.description.contains("127.0.0.1:\(server.port)") == true)
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

    @Test("A thread may wait for a loop, and is not held for ever by one that has ended")
    func waiting() throws {
        let loop = try EventLoop.onNewThread(named: "test")
        #expect(loop.wait(within: .seconds(10)) { 42 } == 42)
        loop.stop()
        let ended = loop.wait(within: .milliseconds(200)) { 42 }
        #expect(ended == nil || ended == 42)
    }
}
