package import Redis
package import Transport

/// One Redis Sentinel for tests, which watches one primary on loopback; gone with the last reference.
///
/// It fails over by itself: its quorum is one, and a server that says nothing for 300 ms is down.
package final class RedisSentinel: Sendable {
    package static let name = "tests"

    package let port: UInt16
    private let folder: TemporaryFolder
    private let process: LoggedProcess

    /// Starts it and waits until it watches; with a certificate it speaks TLS only, also to the primary.
    package init(
        primary: UInt16,
        password: String? = nil,
        ownPassword: String? = nil,
        certificate: CertifiedKey? = nil
    ) async throws {
        folder = try TemporaryFolder(prefix: "pushbridge-sentinel")
        port = try RedisServer.unusedPort()
        var lines = [
            certificate == nil ? "port \(port)" : "port 0", "bind 127.0.0.1", "dir \(folder.path)",
            "sentinel monitor \(Self.name) 127.0.0.1 \(primary) 1",
            "sentinel down-after-milliseconds \(Self.name) 300", "sentinel failover-timeout \(Self.name) 2000",
        ]
        if let password { lines.append("sentinel auth-pass \(Self.name) \(password)") }
        if let ownPassword { lines.append("requirepass \(ownPassword)") }
        if let certificate { lines += try Self.tls(certificate, port: port, folder: folder) }
        let path = folder.path(of: "sentinel.conf")
        try File.write(Array(lines.joined(separator: "\n").utf8), to: path)
        let process = try LoggedProcess(
            "redis-sentinel",
            program: "redis-server",
            arguments: [path, "--sentinel"],
            environment: ["PATH": "/usr/bin:/bin:/usr/local/bin"],
            folder: folder
        )
        self.process = process
        let side = try SideThread(named: "redis-sentinel")
        try await withCheckedThrowingContinuation { continuation in
            side.run {
                continuation.resume(
                    with: Result { try process.waitUntilOutput(contains: "+monitor", within: .seconds(20)) }
                )
            }
        }
    }

    private static func tls(_ certificate: CertifiedKey, port: UInt16, folder: TemporaryFolder) throws -> [String] {
        try File.write(certificate.chainPEM, to: folder.path(of: "chain.pem"))
        try File.write(certificate.keyPEM, to: folder.path(of: "key.pem"))
        return [
            "tls-port \(port)", "tls-replication yes", "tls-auth-clients no",
            "tls-cert-file \(folder.path(of: "chain.pem"))", "tls-key-file \(folder.path(of: "key.pem"))",
            "tls-ca-cert-file \(folder.path(of: "chain.pem"))",
        ]
    }

    /// Ends it at once.
    package func kill() async throws {
        process.process.kill()
        _ = try await process.process.end(within: .seconds(10))
    }

    /// The way to its primary, which other sentinels may know as well.
    package static func settings(
        _ sentinels: [UInt16],
        login: String = "",
        name: String = name
    ) throws -> RedisSettings {
        try RedisSettings(url: "redis+sentinel://\(login)\(hosts(sentinels))/\(name)")
    }

    /// The same over TLS.
    package static func tlsSettings(_ sentinels: [UInt16], trusting authority: [UInt8]) throws -> RedisSettings {
        try RedisSettings(url: "rediss+sentinel://\(hosts(sentinels))/\(name)", extraCA: authority)
    }

    private static func hosts(_ ports: [UInt16]) -> String {
        ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
    }
}
