import HTTP2
import TestSupport
import Testing
import Transport

@Suite("Programs that are not ours", .timeLimit(.minutes(1)))
struct SecondOpinionTests {
    private static let environment = ["PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]

    @Test("nghttpd answers our pool")
    func nghttpd() async throws {
        try await withScene { loop, scene in
            let folder = try TemporaryFolder()
            try await File.write(loop.run { scene.value.certifiedKey.chainPEM }, to: folder.path(of: "chain.pem"))
            try await File.write(loop.run { scene.value.certifiedKey.keyPEM }, to: folder.path(of: "key.pem"))
            let port = try await loop.run { try PoolScene.unsharedPort(on: loop) }
            let child = try ChildProcess(
                "nghttpd",
                [
                    "-a", "127.0.0.1", "-m", "100", "\(port)", folder.path(of: "key.pem"),
                    folder.path(of: "chain.pem"),
                ],
                environment: Self.environment,
                standardOutput: .discard,
                standardError: .discard
            )
            try await loop.run {
                var options = HTTP2Options()
                options.firstPause = .milliseconds(20)
                options.longestPause = .milliseconds(100)
                scene.value.startPool(options, port: port)
                scene.value.push(0..<3000)
            }
            try await loop.wait(for: "the answers") { scene.value.answers.count == 3000 }
            try await loop.run {
                // nghttpd has no such file.
                #expect(scene.value.answers.values.allSatisfy { $0.status == 404 })
                #expect(scene.value.failures.isEmpty)
            }
            child.terminate()
            _ = try await child.end(within: .seconds(10))
        }
    }

    @Test("h2load is answered by our server, with and without kept requests", arguments: [false, true])
    func h2load(keepsRequests: Bool) async throws {
        try await withScene { loop, scene in
            let folder = try TemporaryFolder()
            let body = folder.path(of: "body")
            try File.write([UInt8](repeating: 0x78, count: 700), to: body)
            let server = try await loop.run {
                var options = PoolScene.serverOptions()
                options.keepsRequests = keepsRequests
                let lean = LeanAnswerer()
                let server = try HTTP2Server(
                    .tcp(host: "127.0.0.1", port: 0),
                    tls: scene.value.serverTLS,
                    options: options,
                    on: loop,
                    handler: lean
                )
                return LoopConfined(server, on: loop)
            }
            let port = try await loop.run { server.value.port }
            let output = folder.path(of: "output")
            let child = try ChildProcess(
                "h2load",
                ["-n", "5000", "-c", "4", "-m", "100", "-d", body, "https://127.0.0.1:\(port)/3/device/00"],
                environment: Self.environment,
                standardOutput: .file(path: output),
                standardError: .discard
            )
            #expect(try await child.end(within: .seconds(40)) == .code(0))
            let text = String(decoding: try File.read(output), as: UTF8.self)
            #expect(text.contains("5000 total, 5000 started, 5000 done, 5000 succeeded, 0 failed, 0 errored"))
            try await loop.run { server.value.close() }
        }
    }
}

/// Answers everything with 200.
private final class LeanAnswerer: HTTP2ServerConnectionHandler {
    private let template = try? HTTP2ResponseTemplate(
        status: 200,
        body: Array(#"{"name":"projects/p/messages/1"}"#.utf8)
    )

    func connection(_ connection: HTTP2ServerConnection, receivedOn streamID: Int32) {
        guard let template else { return }
        connection.respond(streamID, with: template)
    }

    func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest) {
        #expect(request.body.count == 700)
        guard let template else { return }
        connection.respond(request.streamID, with: template)
    }
}
