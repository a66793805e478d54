package import Redis
import Synchronization
package import Transport

/// A redis-server of its own for tests: on a unix socket in a temporary folder, gone with the last reference.
///
/// Any thread. It may be killed and started again, on the same socket and ports, with nothing left of its data.
package final class RedisServer: Sendable {
    package struct Options: Sendable {
        package var password: String?
        /// Lines of an ACL, as `user worker on >secret ~* &* +@all`.
        package var users: [String] = []
        package var usesTCP = false
        /// The certificate to show on a TLS port.
        package var certificate: CertifiedKey?
        /// Further lines of the configuration.
        package var configuration: [String] = []

        package init() {}
    }

    /// nil without TCP.
    package let port: UInt16?
    /// nil without TLS.
    package let tlsPort: UInt16?
    package let socketPath: String
    private let folder: TemporaryFolder
    private let configurationPath: String
    private let side: SideThread
    private let running = Mutex<(process: LoggedProcess?, startCount: Int)>((nil, 0))

    /// Starts it and waits until it accepts connections.
    package init(_ options: Options = Options()) async throws {
        folder = try TemporaryFolder(prefix: "pushbridge-redis")
        side = try SideThread(named: "redis-server")
        socketPath = folder.path(of: "redis.sock")
        configurationPath = folder.path(of: "redis.conf")
        port = options.usesTCP ? try Self.unusedPort() : nil
        tlsPort = options.certificate == nil ? nil : try Self.unusedPort()
        var lines = [
            "port \(port ?? 0)", "unixsocket \(socketPath)", "save \"\"", "appendonly no", "dir \(folder.path)",
            "bind 127.0.0.1",
        ]
        if let password = options.password { lines.append("requirepass \(password)") }
        if let tlsPort, let certificate = options.certificate {
            try File.write(certificate.chainPEM, to: folder.path(of: "chain.pem"))
            try File.write(certificate.keyPEM, to: folder.path(of: "key.pem"))
            lines += [
                "tls-port \(tlsPort)", "tls-cert-file \(folder.path(of: "chain.pem"))",
                "tls-key-file \(folder.path(of: "key.pem"))", "tls-auth-clients no",
                "tls-ca-cert-file \(folder.path(of: "chain.pem"))",
            ]
        }
        lines += options.users + options.configuration
        try File.write(Array(lines.joined(separator: "\n").utf8), to: configurationPath)
        try await start()
    }

    /// Starts it again after ``kill()``; waits until it accepts connections.
    package func start() async throws {
        let number = running.withLock { state in
            state.startCount += 1
            return state.startCount
        }
        let process = try LoggedProcess(
            "redis-server-\(number)",
            program: "redis-server",
            arguments: [configurationPath],
            environment: ["PATH": "/usr/bin:/bin:/usr/local/bin"],
            folder: folder
        )
        running.withLock { $0.process = process }
        try await withCheckedThrowingContinuation { continuation in
            side.run {
                continuation.resume(
                    with: Result {
                        try process.waitUntilOutput(contains: "eady to accept connections", within: .seconds(20))
                    }
                )
            }
        }
    }

    /// Ends it at once, without a word to its clients.
    package func kill() async throws {
        guard let process = running.withLock({ $0.process }) else { return }
        process.process.kill()
        _ = try await process.process.end(within: .seconds(10))
        running.withLock { $0.process = nil }
    }

    /// Stops and continues the process, so that it holds its connections and says nothing.
    package func setFrozen(_ isFrozen: Bool) {
        // SIGSTOP and SIGCONT by their numbers on Linux.
        running.withLock { $0.process?.process.send(isFrozen ? 19 : 18) }
    }

    /// How to reach it by its unix socket.
    package func settings(user: String? = nil, password: String? = nil, database: Int = 0) throws -> RedisSettings {
        try RedisSettings(url: url(user: user, password: password, database: database))
    }

    /// The URL of its unix socket.
    package func url(user: String? = nil, password: String? = nil, database: Int = 0) -> String {
        let login = password.map { "\(user ?? ""):\($0)@" } ?? ""
        return "unix://\(login)\(socketPath)?db=\(database)"
    }

    /// A client by its unix socket.
    package func client(password: String? = nil) async throws -> RedisClient {
        try await RedisClient.connect(settings(password: password), name: "test")
    }

    /// A port that nobody uses at the moment.
    package static func unusedPort() throws -> UInt16 {
        let loop = try EventLoop()
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0), tls: nil, on: loop) { _ in nil }
        defer { listener.close() }
        return listener.port
    }
}
