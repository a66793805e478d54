import Encoding
import Redis
import Simulator
import Synchronization
import TestSupport
import Testing
import Transport
import Worker

/// A worker with its Redis and a simulator, in this process: what it logs, traces, and leaves in Redis.
///
/// Chance is always 0, so that each wait is the shortest of its range.
final class AnswerScene: Sendable {
    static let topic = "com.example.app"

    let redis: RedisClient
    private let server: RedisServer
    private let simulatorLoop: EventLoop
    private let workerLoop: EventLoop
    private let simulator: LoopConfined<Simulator>
    private let worker: LoopConfined<Worker>
    private let traces: Recorder<String>
    private let endings: Recorder<Worker.Ending>
    private let listening: Task<Void, Never>
    private let lines: Recorder<String>

    /// `script` is in force from the beginning.
    init(_ environment: [String: String] = [:], script: String = "[]") async throws {
        server = try await RedisServer()
        redis = try await server.client()
        let simulatorLoop = try EventLoop.onNewThread(named: "simulator")
        let workerLoop = try EventLoop.onNewThread(named: "worker")
        let credentials = try SimulatorCredentials()
        let simulator = try await simulatorLoop.run {
            var options = SimulatorOptions()
            options.script = try Script(Array(script.utf8))
            return LoopConfined(
                try Simulator(options: options, credentials: credentials, on: simulatorLoop),
                on: simulatorLoop
            )
        }
        let traces = Recorder<String>(on: simulatorLoop)
        let lines = Recorder<String>(on: simulatorLoop)
        let endings = Recorder<Worker.Ending>(on: simulatorLoop)
        let events = redis.subscribe(channels: ["pndebug"])
        listening = Task {
            for await event in events {
                if case .message(_, let payload) = event { traces.record(String(decoding: payload, as: UTF8.self)) }
            }
        }
        let settings = try await Self.settings(environment, server, simulator, simulatorLoop)
        worker = try await workerLoop.run {
            let log = Log(write: { lines.record(String(decoding: $0, as: UTF8.self)) })
            let policy = RetryPolicy(random: { 0 })
            let worker = try Worker(settings: settings, loop: workerLoop, log: log, retryPolicy: policy)
            worker.start { endings.record($0) }
            return LoopConfined(worker, on: workerLoop)
        }
        _ = try await lines.find { $0.contains { $0.contains("ready:") } ? true : nil }
        (self.simulatorLoop, self.workerLoop, self.simulator) = (simulatorLoop, workerLoop, simulator)
        (self.traces, self.lines, self.endings) = (traces, lines, endings)
    }

    private static func settings(
        _ environment: [String: String],
        _ server: RedisServer,
        _ simulator: LoopConfined<Simulator>,
        _ loop: EventLoop
    ) async throws -> Settings {
        var all = try await Self.environment(of: simulator, on: loop)
        all["PUSHBRIDGE_REDIS_URL"] = server.url()
        all["PUSHBRIDGE_HTTP_ADDRESS"] = "off"
        all.merge(environment) { _, new in new }
        return try Settings(environment: all)
    }

    /// The settings that lead to a simulator.
    static func environment(
        of simulator: LoopConfined<Simulator>,
        on loop: EventLoop
    ) async throws -> [String: String] {
        try await loop.run {
            let simulator = simulator.value
            let credentials = simulator.credentials
            let account = try credentials.serviceAccountJSON(tokenURL: simulator.tokenURL)
            return [
                "PUSHBRIDGE_APNS_KEY": String(decoding: try credentials.apnsKey.privatePEM(), as: UTF8.self),
                "PUSHBRIDGE_APNS_KEY_ID": credentials.apnsKeyID, "PUSHBRIDGE_APNS_TEAM_ID": credentials.apnsTeamID,
                "PUSHBRIDGE_APNS_PRODUCTION_URL": simulator.apnsProductionURL,
                "PUSHBRIDGE_APNS_DEVELOPMENT_URL": simulator.apnsDevelopmentURL,
                "PUSHBRIDGE_FCM_SERVICE_ACCOUNT": String(decoding: account, as: UTF8.self),
                "PUSHBRIDGE_FCM_URL": simulator.fcmURL,
                "PUSHBRIDGE_CA": String(decoding: credentials.authority.certificatePEM, as: UTF8.self),
            ]
        }
    }

    /// Ends everything.
    func close() async throws {
        try await workerLoop.run { self.worker.value.stop(within: .milliseconds(100)) }
        _ = try await endings.first(1)
        listening.cancel()
        redis.close()
        try await simulatorLoop.run { self.simulator.value.close() }
        workerLoop.stop()
        simulatorLoop.stop()
    }

    // MARK: What happens

    func setScript(_ text: String) async throws {
        let script = try Script(Array(text.utf8))
        try await simulatorLoop.run { self.simulator.value.setScript(script) }
    }

    /// Registers a device at a time, in unix milliseconds.
    func register(_ token: String, _ gateway: Gateway, on channel: String, at time: Int64 = 1000) async throws {
        let suffix = suffix(gateway)
        try await redis.call("ZADD", "push:device:{\(token)}:\(suffix)", time, channel)
        try await redis.call("SADD", "push:{\(channel)}:\(suffix)", token)
    }

    func isRegistered(_ token: String, _ gateway: Gateway, on channel: String) async throws -> Bool {
        try await redis.call("SISMEMBER", "push:{\(channel)}:\(suffix(gateway))", token) == .integer(1)
    }

    func suffix(_ gateway: Gateway) -> String { gateway == .fcm ? "fcm" : "apns:production:\(Self.topic)" }

    /// Puts a message with traces into the queue, and answers its id.
    func publish(
        _ gateway: Gateway,
        on channel: String,
        isTraced: Bool = true,
        ttl: Int = 3600
    ) async throws -> String {
        let apns = """
            {"aps":{"alert":"x"},"pn_push":[{"version":"v2","targets":[{"topic":"\(Self.topic)",\
            "environment":"production"}]}]}
            """
        let content = gateway == .fcm ? #""pn_fcm":{"notification":{"title":"x"}}"# : #""pn_apns":\#(apns)"#
        let message = #"{"pn_debug":\#(isTraced),"pn_ttl":\#(ttl),\#(content)}"#
        let id = try await redis.call("XADD", "push:{queue}:messages", "*", "channel", channel, "message", message)
        return try #require(id.text)
    }

    /// Waits for a message's traces of a stage, at least so many; with `status` only those with one.
    func traces(_ stage: String, of id: String, count: Int = 1, withStatus: Bool = false) async throws -> [JSONValue] {
        let found = try await traces.find { all in
            let fitting = all.filter {
                $0.contains(#""stage":"\#(stage)""#) && $0.contains(#""id":"\#(id)""#)
                    && (!withStatus || $0.contains(#""status":"#))
            }
            return fitting.count >= count ? fitting : nil
        }
        return found.compactMap { try? JSONDocument(Array($0.utf8)).root }
    }

    /// Lets the time come for which pushes wait in Redis, once some do.
    func letWaitsEnd() async throws {
        let delayed = "push:{queue}:delayed"
        while true {
            let members = try await redis.call("ZRANGE", delayed, 0, -1).elements?.compactMap(\.bytes) ?? []
            for member in members { try await redis.call("ZADD", delayed, "XX", 0, member) }
            if !members.isEmpty { return }
            try await workerLoop.wait(for: "a turn") { true }
        }
    }

    /// How often a route has connected.
    func connections(_ gateway: Gateway) -> Int {
        let route = gateway == .fcm ? "fcm" : "apns production"
        return lines.elements.count { $0.contains("connected to the provider") && $0.contains(route) }
    }

    func hasLogged(_ text: String) -> Bool { lines.elements.contains { $0.contains(text) } }

    /// What is wrong with credentials.
    func notices() async throws -> [String] {
        try await workerLoop.run { self.worker.value.readiness.notices }
    }
}

/// One answer of a provider, and everything that must follow.
struct AnswerRow: Sendable {
    enum Ending: String, Sendable {
        case sent, removed, errored
        /// It waits; not waited for.
        case waiting
    }

    let status: Int
    let word: String
    /// Instead of the simulator's own.
    var body: String?
    var header = ""
    /// How often it is answered, before the push is accepted.
    var times = 1
    var ending = Ending.errored
    /// When the device was registered.
    var registered: Int64 = 1000
    var isRefused = false
    var isReplaced = false
    /// The waits in milliseconds.
    var waits: [Int64] = []

    var script: String {
        var rule = #"{"times":\#(times),"status":\#(status)"#
        if body == nil { rule += #","reason":"\#(word)""# }
        if let body {
            var json = JSONWriter()
            json.string(body)
            rule += #","body":\#(String(decoding: json.bytes, as: UTF8.self))"#
        }
        return rule + header + "}"
    }
}
