import HTTP2
import TestSupport
import Testing
import Transport

@Suite("A pool and a peer that fails", .timeLimit(.minutes(1)))
struct HTTP2PoolFaultTests {
    @Test("A peer that falls silent is noticed by PING, and its requests are unanswered")
    func silence() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.pingInterval = .milliseconds(100)
                options.pingDeadline = .milliseconds(500)
                scene.value.startPool(options)
                scene.value.push([1])
            }
            try await loop.wait(for: "the first answer") { scene.value.answers.count == 1 }
            try await loop.run {
                for connection in scene.value.server?.connections ?? [] { connection.goSilent() }
                scene.value.push([2])
            }
            try await loop.wait(for: "the failure") { scene.value.failures.count == 1 }
            try await loop.run {
                let reason = "no sign of life from the server within 0.5 seconds of a PING"
                #expect(scene.value.failures[2] == .unanswered(reason: reason))
                #expect(scene.value.events.contains(.closed(reason: reason)))
                scene.value.push([3])
            }
            try await loop.wait(for: "an answer over a new connection") { scene.value.answers[3] != nil }
        }
    }

    @Test("With requests open silence is noticed long before the idle connection's PING, and others take over")
    func silenceWhileOpen() async throws {
        for pings in [true, false] {
            try await withScene { loop, scene in
                try await loop.run {
                    try scene.value.startServer()
                    var options = HTTP2Options()
                    options.pingInterval = pings ? .seconds(600) : nil
                    options.silenceLimit = .milliseconds(100)
                    options.pingDeadline = .seconds(2)
                    options.answerDeadline = .seconds(3)
                    scene.value.startPool(options)
                    scene.value.push([1])
                }
                try await loop.wait(for: "the first answer") { scene.value.answers.count == 1 }
                try await loop.run {
                    for connection in scene.value.server?.connections ?? [] { connection.goSilent() }
                    scene.value.push([2])
                }
                try await loop.wait(for: "the finding") { scene.value.events.contains(.silent) }
                try await loop.run { scene.value.push([3]) }
                try await loop.wait(for: "an answer over a new connection") { scene.value.answers[3] != nil }
                try await loop.wait(for: "the failure") { scene.value.failures.count == 1 }
                try await loop.run {
                    let reason =
                        pings
                        ? "no sign of life from the server within 2.0 seconds of a PING"
                        : "nothing came from the server within 3.0 seconds"
                    #expect(scene.value.failures[2] == .unanswered(reason: reason))
                }
            }
        }
    }

    @Test("A first answer that does not come holds up one request, not all, though the peer answers PINGs")
    func silentFirstAnswer() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.unprovenStreamLimit = 1
                options.pingInterval = .seconds(60)
                options.silenceLimit = .milliseconds(100)
                options.answerDeadline = .seconds(10)
                scene.value.startPool(options)
                scene.value.respond = { connection, request in
                    guard connection.identifier > 1 else { return }
                    try? connection.respond(request.streamID, status: 200)
                }
                scene.value.push(0..<20)
            }
            try await loop.wait(for: "the other answers") { scene.value.answers.count == 19 }
            try await loop.run { #expect(scene.value.failures.isEmpty) }
            try await loop.wait(for: "the failure") { scene.value.failures.count == 1 }
            try await loop.wait(for: "the connection's end") { scene.value.server?.connections.count == 1 }
            try await loop.run {
                #expect(scene.value.failures[0] == .unanswered(reason: "no answer within 10.0 seconds"))
                #expect(scene.value.server?.acceptedCount == 2)
            }
        }
    }

    @Test("A connection that was silent is used again when it brings something")
    func silenceEnds() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.silenceLimit = .milliseconds(50)
                options.maximumConnections = 1
                scene.value.startPool(options)
                scene.value.respond = { _, _ in }
                scene.value.push([1])
            }
            try await loop.wait(for: "the finding") { scene.value.events.contains(.silent) }
            try await loop.run {
                #expect(scene.value.pool?.capacity == 0)
                let (connection, request) = scene.value.requests[0]
                try connection.respond(request.streamID, status: 200)
            }
            try await loop.wait(for: "room") { (scene.value.pool?.capacity ?? 0) > 0 }
            try await loop.run {
                scene.value.respond = { try? $0.respond($1.streamID, status: 200) }
                scene.value.push([2])
            }
            try await loop.wait(for: "the answer") { scene.value.answers.count == 2 }
            try await loop.run { #expect(scene.value.server?.acceptedCount == 1) }
        }
    }

    @Test("PINGs that are answered keep an idle connection")
    func livelyIdleness() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.pingInterval = .milliseconds(10)
                options.pingDeadline = .milliseconds(2000)
                scene.value.startPool(options)
                scene.value.push([1])
            }
            let start = try await loop.run { loop.now }
            try await loop.wait(for: "200 ms") { loop.now - start > .milliseconds(200) }
            try await loop.run {
                #expect(scene.value.server?.connections.count == 1)
                #expect(scene.value.server?.acceptedCount == 1)
            }
        }
    }

    @Test("An answer that is overdue fails its request only, if others come")
    func overdueAnswer() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.answerDeadline = .seconds(1)
                scene.value.startPool(options)
                scene.value.respond = { connection, request in
                    guard request.streamID > 1 else { return }
                    try? connection.respond(request.streamID, status: 200)
                }
                scene.value.push([1])
            }
            try await loop.wait(for: "the first request") { scene.value.requests.count == 1 }
            try await loop.run { scene.value.push([2]) }
            try await loop.wait(for: "the failure") { scene.value.failures.count == 1 }
            try await loop.run {
                #expect(scene.value.failures[1] == .unanswered(reason: "no answer within 1.0 seconds"))
                scene.value.push([3])
            }
            try await loop.wait(for: "another answer") { scene.value.answers.count == 2 }
            try await loop.run { #expect(scene.value.server?.acceptedCount == 1) }
        }
    }

    @Test("If nothing at all comes before the deadline, the connection is given up")
    func deadConnection() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.answerDeadline = .milliseconds(500)
                scene.value.startPool(options)
                scene.value.push([1])
            }
            try await loop.wait(for: "the first answer") { scene.value.answers.count == 1 }
            try await loop.run {
                for connection in scene.value.server?.connections ?? [] { connection.goSilent() }
                scene.value.push([2])
            }
            try await loop.wait(for: "the failure") { scene.value.failures.count == 1 }
            try await loop.run {
                #expect(
                    scene.value.failures[2] == .unanswered(reason: "nothing came from the server within 0.5 seconds")
                )
            }
        }
    }

    @Test("A server that takes the connection and says nothing, or speaks HTTP/1.1, is a failed attempt")
    func notHTTP2() async throws {
        for (greeting, expected) in [("", "no SETTINGS"), ("HTTP/1.1 400 Bad Request\r\n\r\n", "")] {
            try await withScene { loop, scene in
                let listener = try await loop.run {
                    let listener = try Listener(
                        .tcp(host: "127.0.0.1", port: 0),
                        tls: scene.value.serverTLS,
                        on: loop
                    ) { _ in Greeter(greeting) }
                    var options = HTTP2Options()
                    options.settingsDeadline = .milliseconds(200)
                    scene.value.startPool(options, port: listener.port)
                    scene.value.push([1])
                    return LoopConfined(listener, on: loop)
                }
                try await loop.wait(for: "the failure") { !scene.value.events.isEmpty }
                try await loop.run {
                    listener.value.close()
                    guard case .connectFailed(let reason, let pause) = scene.value.events[0] else {
                        Issue.record("unexpected: \(scene.value.events)")
                        return
                    }
                    #expect(reason.contains(expected))
                    #expect(pause >= .milliseconds(250) && pause <= .milliseconds(500))
                    #expect(scene.value.waiting == [1])
                }
            }
        }
    }

    @Test("A server without h2, and one with an unknown certificate, are failed attempts that name the reason")
    func handshake() async throws {
        for protocols in [["http/1.1"], ["h2"]] {
            try await withScene(protocols: protocols) { loop, scene in
                try await loop.run {
                    try scene.value.startServer()
                    if protocols == ["h2"] { scene.value.clientTLS = try TLSClientContext(alpn: ["h2"]) }
                    scene.value.startPool()
                    scene.value.push([1])
                }
                try await loop.wait(for: "the failure") { !scene.value.events.isEmpty }
                try await loop.run {
                    guard case .connectFailed(let reason, _) = scene.value.events[0] else {
                        Issue.record("unexpected: \(scene.value.events)")
                        return
                    }
                    #expect(reason.hasPrefix("TLS: "))
                }
            }
        }
    }

    @Test("A host that is down gets attempts with growing pauses, and is found when it comes back")
    func comesBack() async throws {
        try await withScene { loop, scene in
            let port = try await loop.run {
                let port = try PoolScene.unsharedPort(on: loop)
                var options = HTTP2Options()
                options.firstPause = .milliseconds(20)
                options.longestPause = .milliseconds(200)
                scene.value.startPool(options, port: port)
                scene.value.push([1])
                return port
            }
            try await loop.wait(for: "six attempts") { scene.value.events.count >= 6 }
            try await loop.run {
                for (event, longest) in zip(scene.value.events, [20, 40, 80, 160, 200, 200]) {
                    guard case .connectFailed(_, let pause) = event else {
                        Issue.record("unexpected: \(event)")
                        continue
                    }
                    #expect(pause >= .milliseconds(longest) / 2 && pause <= .milliseconds(longest))
                }
                try scene.value.startServer(port: port)
            }
            try await loop.wait(for: "the answer") { scene.value.answers.count == 1 }
        }
    }

    @Test("A drain lets open requests be answered and takes no more")
    func drain() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                scene.value.startPool()
                scene.value.respond = { _, _ in }
                scene.value.push(1...5)
            }
            try await loop.wait(for: "the requests") { scene.value.requests.count == 5 }
            try await loop.run {
                scene.value.pool?.drain()
                scene.value.push([6])
                #expect(scene.value.waiting == [6])
                for (connection, request) in scene.value.requests {
                    try connection.respond(request.streamID, status: 200)
                }
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 5 }
            try await loop.wait(for: "the end") { scene.value.server?.connections.isEmpty == true }
            try await loop.run { #expect(scene.value.failures.isEmpty) }
        }
    }

    @Test("Closing fails what is open; what was not written is not processed")
    func close() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                scene.value.startPool()
                scene.value.respond = { _, _ in }
                scene.value.push([1])
            }
            try await loop.wait(for: "the request") { scene.value.requests.count == 1 }
            try await loop.run {
                scene.value.push([2])
                scene.value.pool?.close()
            }
            try await loop.wait(for: "the failures") { scene.value.failures.count == 2 }
            try await loop.run {
                #expect(scene.value.failures[1] == .unanswered(reason: "the pool was closed"))
                #expect(scene.value.failures[2] == .notProcessed(reason: "the pool was closed"))
            }
        }
    }

    @Test("Pools and servers that are closed leave nothing behind")
    func noCycles() async throws {
        try await withLoop { loop in
            let weakScene = WeakBox<PoolScene>()
            let box = LoopConfined(weakScene, on: loop)
            try await loop.run {
                let scene = try PoolScene(on: loop)
                box.value.object = scene
                try scene.startServer()
                scene.startPool()
                scene.push([1])
            }
            try await loop.wait(for: "the answer") { box.value.object?.answers.count == 1 }
            try await loop.run { box.value.object?.close() }
            try await loop.wait(for: "the memory to be given back") { box.value.object == nil }
        }
    }
}

private final class WeakBox<Object: AnyObject> {
    weak var object: Object?
}

/// Says one thing at most.
private final class Greeter: ByteStreamHandler {
    private let greeting: String

    init(_ greeting: String) {
        self.greeting = greeting
    }

    func byteStreamConnected(_ stream: ByteStream) {
        if !greeting.isEmpty { stream.write(Array(greeting.utf8)) }
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {}
    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {}
}
