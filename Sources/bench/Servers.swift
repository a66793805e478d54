import Encoding
import Foundation
import Redis
import Transport

/// The programs of one run: Redis on a unix socket, the simulator in lean mode, the worker.
///
/// All end with this object.
final class Servers {
    /// Apple's limit of streams on one connection, as seen in production.
    let streamCount = 1000

    private let folder: TemporaryFolder
    private let programs: Programs
    private let redis: LoggedProcess
    private let simulator: LoggedProcess
    private let workers: [LoggedProcess]
    private let client: RedisClient
    private let settings: [String: String]

    /// Where the programs are that the script has built.
    struct Programs {
        let pushbridge: String
        /// The minimal subscriber in C.
        let subscriber: String
        let path: String
    }

    private var socket: String { folder.path(of: "redis.sock") }

    /// Starts all, each when the one before is ready; `simulatorOptions` say how the stand-ins behave.
    init(_ programs: Programs, simulatorOptions: [String] = ["--lean"], workerCount: Int = 1) async throws {
        self.programs = programs
        folder = try TemporaryFolder(prefix: "pushbridge-bench")
        var surroundings = ["PATH": programs.path, "HOME": folder.path]
        let socket = folder.path(of: "redis.sock")
        redis = try LoggedProcess(
            "redis-server",
            program: "redis-server",
            arguments: [
                "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder.path,
            ],
            environment: surroundings,
            folder: folder
        )
        try redis.waitUntilOutput(contains: "eady to accept connections", within: .seconds(15))
        simulator = try LoggedProcess(
            "simulator",
            program: programs.pushbridge,
            arguments: ["simulator", "--folder", folder.path] + simulatorOptions,
            environment: surroundings,
            folder: folder
        )
        try simulator.waitUntilOutput(contains: "ready", within: .seconds(15))
        settings = try Servers.settings(in: folder.path(of: "simulator.env"))
        surroundings.merge(settings.filter { $0.key.hasPrefix("PUSHBRIDGE_") }) { _, new in new }
        surroundings["PUSHBRIDGE_REDIS_URL"] = "unix://\(socket)"
        let environment = surroundings
        workers = try (1...workerCount).map { [folder] number in
            try LoggedProcess(
                "worker-\(number)",
                program: programs.pushbridge,
                arguments: ["worker", "--http-address", "off"],
                environment: environment,
                folder: folder
            )
        }
        for worker in workers { try worker.waitUntilOutput(contains: "ready", within: .seconds(15)) }
        client = try await RedisClient.connect(RedisSettings(url: "unix://\(socket)"), name: "bench")
    }

    private static func settings(in path: String) throws -> [String: String] {
        let lines = String(decoding: try File.read(path), as: UTF8.self).split(separator: "\n")
        let pairs = lines.filter { !$0.hasPrefix("#") }.map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(pairs.filter { $0.count == 2 }.map { (String($0[0]), String($0[1])) }) { _, last in last }
    }

    deinit {
        client.close()
    }

    // MARK: What they did

    func workerUsage() throws -> ProcessUsage {
        try usage(of: workers[0])
    }

    /// Of each worker.
    func workerUsages() throws -> [ProcessUsage] { try workers.map(usage) }

    private func usage(of worker: LoggedProcess) throws -> ProcessUsage {
        guard let usage = ProcessUsage(of: worker.process.identifier) else {
            throw BenchError("the worker has ended: \(worker.output.suffix(500))")
        }
        return usage
    }

    /// The pushes that the simulator has received since it was started.
    func pushCount() async throws -> Int {
        try await statistic("apns")
    }

    /// The connections to the stand-in for APNs that are open.
    func connectionCount() async throws -> Int {
        try await statistic("connections")
    }

    /// Bytes that Redis uses for everything.
    func redisBytes() async throws -> Int {
        let text = try await client.call("INFO", "memory").text ?? ""
        let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("used_memory:") }
        guard let bytes = line.flatMap({ Int($0.dropFirst("used_memory:".count)) }) else {
            throw BenchError("Redis does not say how much memory it uses")
        }
        return bytes
    }

    /// How many pushes each worker has sent, as it counts them at its end.
    func stopWorkers() throws -> [Int] {
        try workers.map { worker in
            worker.process.terminate()
            guard worker.process.wait(within: .seconds(30)) == .code(0) else {
                throw BenchError("a worker did not end: \(worker.output.suffix(500))")
            }
            let counts = worker.output.split(separator: " ").filter { $0.hasPrefix("sent=") }
            return counts.reduce(0) { $0 + (Int($1.dropFirst(5)) ?? 0) }
        }
    }

    /// What the workers have counted at their end.
    func stopWorkersForOutcomes() throws -> Outcomes {
        _ = try stopWorkers()
        var outcomes = Outcomes()
        for word in workers.flatMap({ $0.output.split(whereSeparator: \.isWhitespace) }) {
            let pair = word.split(separator: "=")
            guard pair.count == 2, let count = Int(pair[1]) else { continue }
            switch pair[0] {
            case "sent": outcomes.sent += count
            case "removed": outcomes.removed += count
            case "errored": outcomes.errored += count
            case "expired": outcomes.expired += count
            default: break
            }
        }
        return outcomes
    }

    /// What the simulator has counted of pushes by their names.
    func tally() async throws -> PushCounts {
        let counts = try JSONDocument(try await control("/tally")).root
        func count(_ name: StaticString) throws -> Int {
            guard let value = counts[name]?.integer else { throw BenchError("the simulator's tally lacks \(name)") }
            return Int(value)
        }
        return PushCounts(
            requests: try count("requests"),
            pushes: try count("pushes"),
            accepted: try count("accepted"),
            gone: try count("gone"),
            unanswered: try count("unanswered"),
            repeatedAfterCut: try count("repeated_after_cut"),
            repeatedWithoutReason: try count("repeated_without_reason")
        )
    }

    /// The connections to all stand-ins so far.
    func openedConnectionCount() async throws -> Int {
        try await statistic("opened")
    }

    /// Waits until every message has its outcome.
    func untilInboxIsEmpty() async throws {
        let clock = ContinuousClock()
        let deadline = clock.now + Scenarios.deadline
        while try await client.call("XLEN", "push:{queue}:messages") != .integer(0) {
            guard clock.now < deadline else { throw BenchError("the inbox was not empty after \(Scenarios.deadline)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Unix time in microseconds at which a push for each device arrived.
    func arrivalMicroseconds() async throws -> [String: Double] {
        let lines = try await control("/received").split(separator: UInt8(ascii: "\n"))
        var arrivals: [String: Double] = [:]
        for line in lines {
            let push = try JSONDocument(Array(line)).root
            if let device = push["device"]?.string, let time = push["time_us"]?.double { arrivals[device] = time }
        }
        return arrivals
    }

    private func statistic(_ name: StaticString) async throws -> Int {
        let statistics = try JSONDocument(try await control("/stats")).root
        guard let value = statistics[name]?.integer else { throw BenchError("the simulator's statistics lack \(name)") }
        return Int(value)
    }

    /// Calls the simulator's control interface, with a body to change how it behaves.
    @discardableResult
    func control(_ path: String, body: String? = nil) async throws -> [UInt8] {
        guard let url = settings["SIMULATOR_CONTROL_URL"] else {
            throw BenchError("the simulator names no control URL")
        }
        var request = HTTPSClient.Request(body == nil ? "GET" : "POST", url + path)
        request.body = body.map { Array($0.utf8) }
        request.maximumBytes = 64 << 20
        let response = try await HTTPSClient.perform(request)
        guard response.status == 200 else { throw BenchError("the simulator answers \(path) with \(response.status)") }
        return response.body
    }

    // MARK: Redis

    func register(fanOutDevices count: Int) async throws {
        let key = BenchMessage.registrationKey(channel: BenchMessage.fanOutChannel)
        for start in stride(from: 0, to: count, by: 1000) {
            let tokens = (start..<min(start + 1000, count)).map(BenchToken.hex)
            try await client.call(RedisCommand("SADD", [key] + tokens))
        }
    }

    /// The devices of the fan-out that are registered.
    func fanOutDeviceCount() async throws -> Int {
        let key = BenchMessage.registrationKey(channel: BenchMessage.fanOutChannel)
        guard case .integer(let count) = try await client.call("SCARD", key) else { return 0 }
        return Int(count)
    }

    /// Devices with a channel each.
    func register(singleDevices count: Int) async throws {
        try await sendPipelined(count) { number in
            let key = BenchMessage.registrationKey(channel: BenchMessage.singleChannel(number))
            return RedisCommand("SADD", [key, BenchMessage.singleToken(number)])
        }
    }

    /// Devices with a channel each, whose pushes the simulator keeps.
    func register(chatDevices count: Int) async throws {
        try await sendPipelined(count) { number in
            let key = BenchMessage.registrationKey(channel: BenchMessage.chatChannel(number))
            return RedisCommand("SADD", [key, BenchMessage.chatToken(number)])
        }
    }

    func publish(_ message: String, on channel: String) async throws {
        try await client.call("PUBLISH", channel, message)
    }

    func publish(_ message: String, onSingleChannels count: Int) async throws {
        try await sendPipelined(count) { number in
            RedisCommand("PUBLISH", [BenchMessage.singleChannel(number), message])
        }
    }

    func redisRoundTripMicroseconds() async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        try await client.call("PING")
        return Scenarios.seconds(clock.now - start) * 1e6
    }

    /// Sends a command for each number, two hundred at a time, so that Redis is busy and this process hardly is.
    private func sendPipelined(_ count: Int, _ command: @escaping @Sendable (Int) -> RedisCommand) async throws {
        let batch = 200
        for start in stride(from: 0, to: count, by: batch) {
            let end = min(start + batch, count)
            try await client.withConnection { connection, done in
                for number in start..<(end - 1) { connection.send(command(number)) { _ in } }
                // Replies come in order: with the last one all are there.
                connection.send(command(end - 1), done)
            }
        }
    }

    // MARK: Rivals

    func h2load(requestCount: Int, connectionCount: Int) async throws -> H2LoadResult {
        guard let url = settings["PUSHBRIDGE_APNS_PRODUCTION_URL"], let port = URL(string: url)?.port else {
            throw BenchError("the simulator names no APNs URL")
        }
        let load = H2Load(
            port: UInt16(clamping: port),
            requestCount: requestCount,
            connectionCount: connectionCount,
            streamCount: streamCount,
            folder: folder.path,
            body: BenchMessage.body,
            topic: BenchMessage.topic
        )
        let report = try run(
            "bash",
            load.arguments(),
            name: "h2load-\(requestCount)-\(UInt32.random(in: 0...UInt32.max))"
        )
        guard let result = H2LoadResult(report: report), result.succeeded == requestCount else {
            throw BenchError("h2load did not succeed: \(report.suffix(1000))")
        }
        return result
    }

    /// Publishes messages without a push with redis-benchmark, as fast as Redis takes them.
    func publishPlain(count: Int) throws {
        let options = ["-s", socket, "-n", "\(count)", "-c", "4", "-P", "32", "-q"]
        _ = try run(
            "redis-benchmark",
            options + ["PUBLISH", "bench.plain", BenchMessage.plain],
            name: "redis-benchmark"
        )
    }

    func startSubscriber(messageCount: Int) throws -> LoggedProcess {
        let subscriber = try LoggedProcess(
            "bench-subscriber",
            program: programs.subscriber,
            arguments: [socket, "\(messageCount)"],
            environment: ["PATH": programs.path],
            folder: folder
        )
        try subscriber.waitUntilOutput(contains: "ready", within: .seconds(10))
        return subscriber
    }

    /// The processor time of the subscriber in C, when it has heard all its messages.
    func processorSeconds(ofSubscriber subscriber: LoggedProcess) async throws -> Double {
        try subscriber.waitUntilOutput(contains: "microseconds", within: .seconds(30))
        let words = subscriber.output.split(whereSeparator: \.isWhitespace)
        guard let end = words.lastIndex(of: "microseconds"), end > 0, let value = Double(words[end - 1]) else {
            throw BenchError("the subscriber in C says: \(subscriber.output)")
        }
        return value / 1e6
    }

    /// Runs a program to its end and gives its output.
    private func run(_ program: String, _ arguments: [String], name: String) throws -> String {
        let process = try LoggedProcess(
            name,
            program: program,
            arguments: arguments,
            environment: ["PATH": programs.path],
            folder: folder
        )
        guard let exit = process.process.wait(within: Scenarios.deadline) else {
            throw BenchError("\(program) did not end within \(Scenarios.deadline)")
        }
        guard exit == .code(0) else { throw BenchError("\(program) failed: \(process.output.suffix(500))") }
        return process.output
    }
}
