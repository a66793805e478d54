import Encoding
import Redis
import Simulator
import Synchronization
import TestSupport
import Testing
import Transport
import Worker

/// A worker, a simulator and a Redis prefix of their own, and what a message leads to.
struct DeliveryScene: Sendable {
    /// Which providers' credentials the worker gets; files are written by the test.
    typealias Environment = [String: String]

    let loop: EventLoop
    let simulator: LoopConfined<Simulator>
    let folder: TemporaryFolder
    private let worker: LoopConfined<Worker>
    private let redis: RedisClient
    private let prefix: String
    private let traces: Recorder<JSONDocument>
    private let lines: LogLines

    /// What a worker has logged.
    private final class LogLines: Sendable {
        let text = Mutex("")
    }

    /// Runs the body with a worker; `prepare` writes its files and says its settings.
    static func run(
        _ options: SimulatorOptions = SimulatorOptions(),
        credentials change: @escaping @Sendable (inout SimulatorCredentials) throws -> Void = { _ in },
        prepare: @escaping @Sendable (Simulator, TemporaryFolder) throws -> Environment,
        _ body: (DeliveryScene) async throws -> Void
    ) async throws {
        try await withLoop { loop in
            let server = try RedisServer.current()
            let scene = try await DeliveryScene(options, change, prepare, server: server, on: loop)
            do {
                try await body(scene)
            } catch {
                try await scene.close()
                throw error
            }
            try await scene.close()
        }
    }

    private init(
        _ options: SimulatorOptions,
        _ change: @escaping @Sendable (inout SimulatorCredentials) throws -> Void,
        _ prepare: @escaping @Sendable (Simulator, TemporaryFolder) throws -> Environment,
        server: RedisServer,
        on loop: EventLoop
    ) async throws {
        let folder = try TemporaryFolder()
        let prefix = "t\(UInt32.random(in: 0...UInt32.max)):"
        let lines = LogLines()
        let log = Log(
            level: .debug,
            write: { line in lines.text.withLock { $0 += String(decoding: line, as: UTF8.self) } }
        )
        (simulator, worker) = try await loop.run {
            var credentials = try SimulatorCredentials()
            try change(&credentials)
            let simulator = try Simulator(options: options, credentials: credentials, on: loop)
            var environment = try prepare(simulator, folder)
            environment["PUSHBRIDGE_REDIS_URL"] = server.url()
            environment["PUSHBRIDGE_PREFIX"] = prefix
            environment["PUSHBRIDGE_DEBUG_CHANNEL"] = "\(prefix)debug"
            environment["PUSHBRIDGE_CHANNELS"] = "\(prefix)*"
            environment["PUSHBRIDGE_HTTP_ADDRESS"] = "off"
            environment["PUSHBRIDGE_APNS_PRODUCTION_URL"] = simulator.apnsProductionURL
            environment["PUSHBRIDGE_APNS_DEVELOPMENT_URL"] = simulator.apnsDevelopmentURL
            environment["PUSHBRIDGE_FCM_URL"] = simulator.fcmURL
            environment["PUSHBRIDGE_CA"] = String(decoding: credentials.authority.certificatePEM, as: UTF8.self)
            let worker = try Worker(settings: try Settings(environment: environment), loop: loop, log: log)
            worker.start { _ in }
            return (LoopConfined(simulator, on: loop), LoopConfined(worker, on: loop))
        }
        (self.loop, self.folder, self.prefix, self.lines) = (loop, folder, prefix, lines)
        redis = try await server.client()
        traces = Recorder<JSONDocument>(on: loop)
        let stream = redis.subscribe(channels: ["\(prefix)debug"])
        let (recorder, ready) = (traces, Recorder<Bool>(on: loop))
        Task {
            for await event in stream {
                if event == .ready { ready.record(true) }
                if case .message(_, let payload) = event, let trace = try? JSONDocument(payload) {
                    recorder.record(trace)
                }
            }
        }
        _ = try await ready.first(1)
    }

    func close() async throws {
        try await loop.run {
            worker.value.stop(within: .zero)
            simulator.value.close()
        }
        redis.close()
    }

    /// As SIGHUP does.
    func readCredentialsAgain() async throws {
        try await loop.run { worker.value.readCredentialsAgain() }
    }

    /// What the worker has logged until now.
    var log: String { lines.text.withLock { $0 } }

    /// Waits until the log has these words.
    func waitForLog(_ words: String) async throws {
        let lines = lines
        try await loop.wait(for: "the log line \(words)") { lines.text.withLock { $0.contains(words) } }
    }

    /// Registers a device, by the name of its set without the prefix and the channel.
    func register(_ token: String, channel: String = "c", set: String) async throws {
        try await redis.call("SADD", "\(prefix){\(prefix)\(channel)}:\(set)", token)
    }

    /// Puts a message into the inbox; `json` is the object's inside.
    func publish(_ json: String, channel: String = "c") async throws {
        let message = "{\"pn_debug\":true,\(json)}"
        try await redis.call(
            "XADD",
            "\(prefix){queue}:messages",
            "*",
            "channel",
            "\(prefix)\(channel)",
            "message",
            message
        )
    }

    /// A message for one APNs target.
    func publish(topic: String, environment: String = "production", method: String = "token", type: String = "alert")
        async throws
    {
        try await publish(
            """
            "pn_apns":{"aps":{"alert":"x"},"pn_push":[{"auth_method":"\(method)","push_type":"\(type)",\
            "targets":[{"topic":"\(topic)","environment":"\(environment)"}]}]}
            """
        )
    }

    /// The traces of the stages until that many targets are completed, as `stage reason`.
    func outcomes(completed count: Int = 1, within deadline: Duration = .seconds(20)) async throws -> [JSONValue] {
        try await traces.find(within: deadline) { all in
            let done = all.count { $0.root["stage"]?.string == "completed" }
            return done >= count ? all.map(\.root) : nil
        }
    }

    /// The traces of a stage, once that many targets are completed.
    func traces(of stage: String, completed count: Int = 1, within deadline: Duration = .seconds(20)) async throws
        -> [JSONValue]
    {
        try await outcomes(completed: count, within: deadline).filter { $0["stage"]?.string == stage }
    }

    /// How often the simulator was asked for an access token.
    func tokenRequests() async throws -> Int {
        try await loop.run { simulator.value.arrivalCount(of: "token") }
    }

    /// What the simulator has received, a JSON value for each push.
    func received() async throws -> [JSONValue] {
        let text = try await loop.run { simulator.value.received }
        return text.split(separator: UInt8(ascii: "\n")).compactMap { try? JSONDocument(Array($0)).root }
    }
}
