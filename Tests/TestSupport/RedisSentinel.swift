package import Redis
import Transport

/// One Redis Sentinel for tests, which watches one primary on loopback; gone with the last reference.
///
/// It fails over by itself: its quorum is one, and a server that says nothing for 300 ms is down.
package final class RedisSentinel: Sendable {
    package static let name = "tests"

    package let port: UInt16
    private let folder: TemporaryFolder
    private let process: LoggedProcess

    /// Starts it and waits until it watches.
    package init(primary: UInt16, password: String? = nil, ownPassword: String? = nil) async throws {
        folder = try TemporaryFolder(prefix: "pushbridge-sentinel")
        port = try RedisServer.unusedPort()
        var lines = [
            "port \(port)", "bind 127.0.0.1", "dir \(folder.path)",
            "sentinel monitor \(Self.name) 127.0.0.1 \(primary) 1",
            "sentinel down-after-milliseconds \(Self.name) 300", "sentinel failover-timeout \(Self.name) 2000",
        ]
        if let password { lines.append("sentinel auth-pass \(Self.name) \(password)") }
        if let ownPassword { lines.append("requirepass \(ownPassword)") }
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

    /// Ends it at once.
    package func kill() async throws {
        process.process.kill()
        _ = try await process.process.end(within: .seconds(10))
    }

    /// The way to its primary, which other sentinels may know as well.
    package static func settings(_ sentinels: [UInt16], login: String = "", name: String = name) throws -> RedisSettings
    {
        let hosts = sentinels.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        return try RedisSettings(url: "redis+sentinel://\(login)\(hosts)/\(name)")
    }
}
