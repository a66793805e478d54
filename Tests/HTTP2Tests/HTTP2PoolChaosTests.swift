import HTTP2
import TestSupport
import Testing
import Transport

/// What failures claim must be true: else pushes are lost or shown twice.
@Suite("A pool and a server that fails at random", .timeLimit(.minutes(1)))
struct HTTP2PoolChaosTests {
    @Test(
        "What is answered was processed once, and what was not processed was not",
        arguments: [1, 2, 3] as [UInt64]
    )
    func outcomes(seed: UInt64) async throws {
        let count = 4000
        try await withScene { loop, scene in
            let server = try await loop.run {
                var options = HTTP2Options()
                options.firstPause = .milliseconds(2)
                options.longestPause = .milliseconds(10)
                options.maximumConnections = 3
                try scene.value.startServer(PoolScene.serverOptions(streams: 60))
                scene.value.startPool(options)
                scene.value.numbersPaths = true
                scene.value.resendsUnprocessed = true
                let server = FailingServer(seed: seed)
                scene.value.respond = { server.answer($1, on: $0) }
                scene.value.push(0..<count)
                return LoopConfined(server, on: loop)
            }
            try await loop.wait(for: "all outcomes", within: .seconds(50)) {
                scene.value.answers.count + scene.value.failures.count == count
            }
            try await loop.run {
                let processed = server.value.processed
                for tag in 0..<count {
                    let times = processed["/3/device/\(tag)"] ?? 0
                    if scene.value.answers[tag] != nil {
                        #expect(times == 1, "answered: \(tag)")
                    } else {
                        #expect(times <= 1, "failed: \(tag), \(String(describing: scene.value.failures[tag]))")
                    }
                }
                #expect(server.value.faults > 20)
                #expect(scene.value.failures.count < count / 4)
            }
        }
    }
}

/// Answers most requests, and refuses, drops and sends away at random; confined to its loop.
private final class FailingServer {
    private(set) var processed: [String: Int] = [:]
    private(set) var faults = 0
    private var firstUnprocessed: [ObjectIdentifier: Int32] = [:]
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    func answer(_ request: HTTP2ServerRequest, on connection: HTTP2ServerConnection) {
        let key = ObjectIdentifier(connection)
        guard request.streamID < firstUnprocessed[key] ?? .max else { return }
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        switch (state >> 33) % 400 {
        case 0:
            faults += 1
            firstUnprocessed[key] = request.streamID
            connection.drop()
        case 1:
            faults += 1
            firstUnprocessed[key] = request.streamID
            connection.goAway(.noError, lastStreamID: max(0, request.streamID - 2))
        case 2...9:
            faults += 1
            connection.reset(request.streamID, .refusedStream)
        default:
            processed[request.path, default: 0] += 1
            try? connection.respond(request.streamID, status: 200)
        }
    }
}
