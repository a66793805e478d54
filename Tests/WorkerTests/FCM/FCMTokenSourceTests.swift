import Encoding
import TestSupport
import Testing
import Transport
import Worker

/// The token source over real HTTP, against an endpoint that answers as it is told.
@Suite(.timeLimit(.minutes(1))) struct FCMTokenSourceTests {
    /// Answers requests in turn, the last answer again and again; on its loop.
    private final class Endpoint: ByteStreamHandler {
        var answers: [String]
        var requests: [String] = []
        private var received: [ObjectIdentifier: [UInt8]] = [:]

        init(_ answers: [String]) {
            self.answers = answers
        }

        func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
            let all = received[ObjectIdentifier(stream), default: []] + bytes.copiedBytes
            received[ObjectIdentifier(stream)] = all
            let text = String(decoding: all, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n"), let length = Self.contentLength(text),
                text[end...].utf8.count >= length + 4
            else { return }
            requests.append(text)
            guard let last = answers.first else { return }
            let answer = answers.count > 1 ? answers.removeFirst() : last
            stream.write(Array(answer.utf8))
            stream.closeAfterFlush(deadline: .seconds(5))
        }

        func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
            received[ObjectIdentifier(stream)] = nil
        }

        private static func contentLength(_ text: String) -> Int? {
            let lines = text.lowercased().split(separator: "\r\n")
            return lines.first { $0.hasPrefix("content-length:") }
                .flatMap { Int($0.split(separator: " ").last ?? "") }
        }
    }

    /// What a test looks at, on the loop.
    private final class Scene {
        let endpoint: Endpoint
        let source: FCMTokenSource
        var changes: [FCMAccessToken.Failure?] = []
        let lines: Recorder<String>
        private let listener: Listener

        init(_ answers: [String], on loop: EventLoop) throws {
            let endpoint = Endpoint(answers)
            self.endpoint = endpoint
            listener = try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in endpoint }
            let account = try FCMServiceAccount(json: Self.account(port: listener.port))
            let lines = Recorder<String>(on: loop)
            self.lines = lines
            let log = Log(level: .debug, write: { lines.record(String(decoding: $0, as: UTF8.self)) })
            source = FCMTokenSource(
                account,
                extraCA: nil,
                proxy: .none,
                clock: ClockWatch(peer: "google", log: log) { loop.unixMilliseconds / 1000 },
                loop: loop,
                log: log
            )
            source.whenChanged = { [weak self] in self?.changes.append($0) }
            source.start()
        }

        deinit {
            source.close()
        }

        private static func account(port: UInt16) throws -> [UInt8] {
            var json = JSONWriter()
            json.beginObject()
            let members = [
                ("project_id", "p"), ("client_email", "a@b"), ("token_uri", "http://127.0.0.1:\(port)/token"),
            ]
            for (name, value) in members {
                json.key(name)
                json.string(value)
            }
            json.key("private_key")
            json.string(try SigningKey.generate(.rs256).privatePEM())
            json.endObject()
            return json.bytes
        }
    }

    private static func answer(_ status: String, _ body: String) -> String {
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let good = answer("200 OK", #"{"access_token":"ya29.x","expires_in":3600,"token_type":"Bearer"}"#)

    private func withScene(
        _ answers: [String],
        _ body: (LoopConfined<Scene>, EventLoop) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let scene = try await loop.run { LoopConfined(try Scene(answers, on: loop), on: loop) }
            try await body(scene, loop)
        }
    }

    @Test("The first token is fetched by the form that Google wants, and reported")
    func fetches() async throws {
        try await withScene([Self.good]) { scene, loop in
            try await loop.wait(for: "the token") { scene.value.changes.count == 1 }
            let (request, header) = try await loop.run {
                (scene.value.endpoint.requests.first ?? "", scene.value.source.authorization)
            }
            #expect(header == Array("Bearer ya29.x".utf8))
            #expect(request.hasPrefix("POST /token HTTP/1.1\r\n"))
            #expect(request.lowercased().contains("content-type: application/x-www-form-urlencoded\r\n"))
            #expect(request.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=ey"))
        }
    }

    @Test("An endpoint that is not well is asked again")
    func triesAgain() async throws {
        let ill = Self.answer("503 Service Unavailable", "<html>")
        try await withScene([ill, Self.good]) { scene, loop in
            try await loop.wait(for: "the token") { scene.value.source.authorization != nil }
            let changes = try await loop.run { scene.value.changes }
            #expect(changes == [nil])
        }
    }

    @Test("A refused account is reported with what to look at")
    func refused() async throws {
        let refusal = #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#
        try await withScene([Self.answer("400 Bad Request", refusal)]) { scene, loop in
            try await loop.wait(for: "the refusal") { scene.value.changes.count == 1 }
            let failure = try await loop.run { scene.value.source.failure }
            #expect(failure?.reason == "invalid_grant")
            #expect(failure?.text.contains("its key was deleted") == true)
        }
    }

    @Test("However many pushes were refused, one fetch is on its way")
    func oneFetch() async throws {
        // Without an answer the first fetch stays on its way.
        try await withScene([]) { scene, loop in
            try await loop.wait(for: "the request") {
                for _ in 0..<10 { scene.value.source.refresh() }
                return scene.value.endpoint.requests.count == 1
            }
            let started = LoopInstant.current
            try await loop.run { for _ in 0..<100 { scene.value.source.refresh() } }
            let count = try await loop.run { scene.value.endpoint.requests.count }
            // On a machine that is very busy the fetch may have been given up meanwhile.
            #expect(count == 1 || LoopInstant.current - started > .seconds(5))
        }
    }

    @Test("A clock that is wrong is seen from the endpoint's date, also when it gives a token")
    func wrongClock() async throws {
        let dated = Self.good.split(separator: "\r\n", maxSplits: 1).map(String.init)
            .joined(separator: "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n")
        try await withScene([dated]) { scene, loop in
            try await loop.wait(for: "the token") { scene.value.source.authorization != nil }
            let lines = try await loop.run { scene.value.lines }
            let line = try await lines.find { $0.first { $0.contains("clock is wrong") } }
            #expect(line.contains("provider=google") && line.contains("ahead_seconds="), "\(line)")
        }
    }

    @Test("Neither the key nor a token is in the log, whatever the endpoint says")
    func secrets() async throws {
        let refusal = #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#
        let answers = [Self.answer("503 Service Unavailable", "x"), Self.answer("400 Bad Request", refusal)]
        try await withScene(answers + [Self.good]) { scene, loop in
            let lines = try await loop.run { scene.value.lines }
            _ = try await lines.find { $0.first { $0.contains("its key was deleted") } }
            let text = lines.elements.joined()
            #expect(!text.contains("ya29") && !text.contains("eyJ") && !text.contains("MII"))
        }
    }

    @Test("A token is replaced before it ends")
    func renews() async throws {
        let short = Self.answer("200 OK", #"{"access_token":"short","expires_in":1}"#)
        try await withScene([short, Self.good]) { scene, loop in
            try await loop.wait(for: "the second token") {
                scene.value.source.authorization == Array("Bearer ya29.x".utf8)
            }
        }
    }
}

extension String {
    fileprivate func range(of needle: String) -> String.Index? {
        indices.first { self[$0...].hasPrefix(needle) }
    }
}
