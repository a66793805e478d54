import HTTP2
import TestSupport
import Testing
import Transport

@Suite("A pool against a server over TLS", .timeLimit(.minutes(1)))
struct HTTP2PoolTests {
    @Test("Five thousand requests are answered, within the server's stream limit")
    func manyRequests() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 50))
                scene.value.startPool()
                scene.value.push(0..<5000)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 5000 }
            try await loop.run {
                #expect(scene.value.failures.isEmpty)
                #expect(scene.value.mostOpen <= 50)
                #expect(scene.value.pool?.openCount == 0)
                #expect(scene.value.events.first == .connected(streams: 50))
            }
        }
    }

    @Test("An unproven connection has one stream until an answer shows that its credential is good")
    func unproven() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                var options = HTTP2Options()
                options.unprovenStreamLimit = 1
                scene.value.startPool(options)
                scene.value.respond = { _, _ in }
                scene.value.push(0..<10)
            }
            try await loop.wait(for: "the first request") { scene.value.requests.count == 1 }
            try await loop.run {
                #expect(scene.value.pool?.openCount == 1)
                let first = scene.value.requests[0]
                try first.connection.respond(first.request.streamID, status: 403)
            }
            try await loop.wait(for: "the second request") { scene.value.requests.count == 2 }
            try await loop.run {
                #expect(scene.value.pool?.openCount == 1)
                let second = scene.value.requests[1]
                try second.connection.respond(second.request.streamID, status: 410)
            }
            try await loop.wait(for: "all requests") { scene.value.requests.count == 10 }
            try await loop.run { #expect(scene.value.pool?.readyCount == 1) }
        }
    }

    @Test("A full window adds connections, up to the maximum; unused ones are closed, but for one")
    func growthByWindow() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 1000, delay: .milliseconds(40)))
                var options = HTTP2Options()
                options.maximumConnections = 3
                options.idleLifetime = .milliseconds(300)
                scene.value.startPool(options)
                scene.value.request = pushRequest(bodyOf: 4000)
                scene.value.push(0..<600)
            }
            try await loop.wait(for: "three connections") { scene.value.server?.acceptedCount == 3 }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 600 }
            try await loop.wait(for: "one connection") { scene.value.server?.connections.count == 1 }
            try await loop.run {
                #expect(scene.value.failures.isEmpty)
                #expect((scene.value.server?.acceptedCount ?? 0) >= 3)
                scene.value.push(1000..<1010)
            }
            try await loop.wait(for: "more answers") { scene.value.answers.count == 610 }
        }
    }

    @Test("A stream limit that stays used up adds connections")
    func growthByStreams() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 2, delay: .milliseconds(30)))
                var options = HTTP2Options()
                options.maximumConnections = 2
                scene.value.startPool(options)
                scene.value.push(0..<40)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 40 }
            try await loop.run {
                #expect(scene.value.server?.acceptedCount == 2)
                #expect(scene.value.mostOpen <= 2)
            }
        }
    }

    @Test("A limit that shrinks while streams are open holds from then on")
    func shrinkingLimit() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 20))
                var options = HTTP2Options()
                options.maximumConnections = 1
                scene.value.startPool(options)
                scene.value.respond = { _, _ in }
                scene.value.push(0..<40)
            }
            try await loop.wait(for: "twenty requests") { scene.value.requests.count == 20 }
            try await loop.run { scene.value.requests[0].connection.setMaximumConcurrentStreams(3) }
            try await loop.wait(for: "the new limit") { scene.value.pool?.capacity(forBodiesOf: 1) == 0 }
            try await loop.run {
                scene.value.respond = { connection, request in
                    #expect(connection.openCount <= 3)
                    try? connection.respond(request.streamID, status: 200)
                }
                for (connection, request) in scene.value.requests {
                    try connection.respond(request.streamID, status: 200)
                }
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 40 }
        }
    }

    @Test(
        "After GOAWAY the streams above the last one are not processed, the others answered, and a new connection made"
    )
    func goAway() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                scene.value.startPool()
                scene.value.respond = { _, _ in }
                scene.value.push(0..<10)
            }
            try await loop.wait(for: "ten requests") { scene.value.requests.count == 10 }
            try await loop.run {
                let (connection, request) = scene.value.requests[3]
                connection.goAway(.noError, lastStreamID: request.streamID, debugData: Array("max_age".utf8))
                for (_, request) in scene.value.requests.prefix(4) {
                    try connection.respond(request.streamID, status: 200)
                }
            }
            try await loop.wait(for: "all outcomes") { scene.value.answers.count + scene.value.failures.count == 10 }
            try await loop.wait(for: "the connection's end") { scene.value.server?.connections.isEmpty == true }
            try await loop.run {
                #expect(scene.value.answers.keys.sorted() == [0, 1, 2, 3])
                #expect(scene.value.failures.values.allSatisfy { $0 == .notProcessed(reason: "GOAWAY") })
                scene.value.respond = { try? $0.respond($1.streamID, status: 200) }
                scene.value.push(20..<30)
            }
            try await loop.wait(for: "answers on another connection") { scene.value.answers.count == 14 }
            try await loop.run { #expect(scene.value.server?.acceptedCount == 2) }
        }
    }

    @Test("GOAWAY with an error and without a word about streams leaves the connection at once")
    func goAwayWithError() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                scene.value.startPool()
                scene.value.respond = { connection, request in
                    connection.goAway(.enhanceYourCalm, lastStreamID: 0, debugData: Array("too_many_pings".utf8))
                }
                scene.value.push(0..<3)
            }
            try await loop.wait(for: "the failures") { scene.value.failures.count == 3 }
            try await loop.run {
                #expect(scene.value.failures.values.allSatisfy { $0 == .notProcessed(reason: "GOAWAY") })
                #expect(
                    scene.value.events.contains(
                        .goAway(
                            HTTP2GoAway(
                                lastStreamID: 0,
                                errorCode: .enhanceYourCalm,
                                debugData: Array("too_many_pings".utf8)
                            )
                        )
                    )
                )
            }
        }
    }

    @Test("Streams that the server refuses are not processed; the connection goes on")
    func refusedStreams() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                scene.value.startPool()
                scene.value.respond = { connection, request in
                    if request.streamID % 4 == 1 {
                        connection.reset(request.streamID, .refusedStream)
                    } else {
                        try? connection.respond(request.streamID, status: 200)
                    }
                }
                scene.value.push(0..<100)
            }
            try await loop.wait(for: "all outcomes") { scene.value.answers.count + scene.value.failures.count == 100 }
            try await loop.run {
                #expect(scene.value.failures.count == 50)
                #expect(scene.value.failures.values.allSatisfy { $0 == .notProcessed(reason: "REFUSED_STREAM") })
                #expect(scene.value.server?.acceptedCount == 1)
            }
        }
    }

    @Test("After a lost connection written requests are unanswered, later ones go over a new connection")
    func lostConnection() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 5))
                var options = HTTP2Options()
                options.maximumConnections = 1
                options.firstPause = .milliseconds(20)
                scene.value.startPool(options)
                scene.value.respond = { connection, _ in
                    if scene.value.requests.count == 5 { connection.drop() }
                }
                scene.value.push(0..<5)
            }
            try await loop.wait(for: "the failures") { scene.value.failures.count == 5 }
            try await loop.run {
                #expect(
                    scene.value.failures.values.allSatisfy { failure in
                        guard case .unanswered = failure else { return false }
                        return true
                    }
                )
                scene.value.respond = { try? $0.respond($1.streamID, status: 200) }
                scene.value.push(10..<20)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 10 }
        }
    }

    @Test("Bulk work leaves a tenth of the streams of one connection to others, and goes on when it may")
    func bulkReserve() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 30))
                var options = HTTP2Options()
                options.maximumConnections = 2
                scene.value.startPool(options)
                scene.value.push([0])
            }
            try await loop.wait(for: "the proof") { scene.value.answers.count == 1 }
            try await loop.run {
                scene.value.respond = { _, _ in }
                scene.value.isBulk = true
                scene.value.push(1...100)
            }
            try await loop.wait(for: "what bulk work may use") { scene.value.requests.count == 58 }
            try await loop.run {
                #expect(scene.value.pool?.readyCount == 2)
                #expect(!scene.value.submit(1000, isBulk: true))
                for tag in 1001...1003 { #expect(scene.value.submit(tag, isBulk: false)) }
                #expect(!scene.value.submit(1004, isBulk: false))
            }
            try await loop.wait(for: "the others") { scene.value.requests.count == 61 }
            try await loop.run {
                scene.value.respond = { try? $0.respond($1.streamID, status: 200) }
                for (connection, request) in scene.value.requests {
                    try connection.respond(request.streamID, status: 200)
                }
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 104 }
        }
    }

    @Test("Bulk work may use the only stream of an unproven connection, and all of few streams")
    func bulkOnFewStreams() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer(PoolScene.serverOptions(streams: 8))
                var options = HTTP2Options()
                options.unprovenStreamLimit = 1
                options.maximumConnections = 1
                scene.value.startPool(options)
                scene.value.respond = { _, _ in }
                scene.value.isBulk = true
                scene.value.push(0..<100)
            }
            try await loop.wait(for: "the first request") { scene.value.requests.count == 1 }
            try await loop.run {
                let (connection, request) = scene.value.requests[0]
                try connection.respond(request.streamID, status: 200)
            }
            try await loop.wait(for: "all streams") { scene.value.requests.count == 9 }
        }
    }

    @Test("Connections are replaced on demand: what is open is answered on the old one, what comes goes to a new one")
    func replacement() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                try scene.value.startServer()
                scene.value.startPool()
                scene.value.respond = { _, _ in }
                scene.value.push(0..<5)
            }
            try await loop.wait(for: "five requests") { scene.value.requests.count == 5 }
            try await loop.run {
                scene.value.pool?.replaceConnections()
                scene.value.push(5..<10)
            }
            try await loop.wait(for: "five more") { scene.value.requests.count == 10 }
            try await loop.run {
                let identifiers = scene.value.requests.map(\.connection.identifier)
                #expect(identifiers == [1, 1, 1, 1, 1, 2, 2, 2, 2, 2])
                for (connection, request) in scene.value.requests {
                    try connection.respond(request.streamID, status: 200)
                }
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 10 }
            try await loop.wait(for: "the old connection's end") { scene.value.server?.connections.count == 1 }
            try await loop.run { #expect(scene.value.failures.isEmpty) }
        }
    }

    @Test("A stream window that SETTINGS shrink while requests are open is kept to")
    func shrinkingWindow() async throws {
        try await withScene { loop, scene in
            try await loop.run {
                var server = PoolScene.serverOptions(streams: 50)
                server.settings.initialWindowSize = 100
                try scene.value.startServer(server)
                scene.value.startPool()
                scene.value.request = pushRequest(bodyOf: 4000)
                scene.value.push(0..<50)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 50 }
            try await loop.run { #expect(scene.value.requests.allSatisfy { $0.request.body.count == 4000 }) }
        }
    }
}
