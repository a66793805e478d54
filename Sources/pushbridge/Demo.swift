import Encoding
import Transport

/// What the demo starts, and the steps of it.
///
/// Blocks its caller, the main thread.
final class Demo {
    private static let channel = "demo"
    private static let topic = "com.example.demo"
    private static let environment = "production"
    private static let phone = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    private static let android = "demo-device:APA91bHPRgkF3JUikC4ENAHEeMrd41Zxv3hVZjC9KtT8OvPVGJ"
    /// This program; the kernel resolves it, however it was called.
    private static let program = "/proc/self/exe"

    private let interruption: Interruption
    private let folder: TemporaryFolder
    /// What the programs find around them: nothing of the caller's but the way to redis-server.
    private var surroundings: [String: String]
    private var started: [LoggedProcess] = []
    private var controlURL = ""

    private var socket: String { folder.path(of: "redis.sock") }

    init(path: String, interruption: Interruption) throws {
        self.interruption = interruption
        folder = try TemporaryFolder(prefix: "pushbridge-demo")
        surroundings = ["PATH": path, "HOME": folder.path]
    }

    // MARK: Steps

    /// Redis, the stand-ins, the worker, each when the one before is ready.
    func start() throws {
        say("Starting a private Redis, stand-ins for APNs and FCM, and a worker")
        let redis = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder.path]
        try start("redis-server", program: "redis-server", redis, isReadyWhen: "eady to accept connections")
        try start("simulator", program: Self.program, ["simulator", "--folder", folder.path], isReadyWhen: "ready")
        try readSettings(folder.path(of: "simulator.env"))
        surroundings["PUSHBRIDGE_REDIS_URL"] = "unix://\(socket)"
        try start("worker", program: Self.program, ["worker", "--http-address", "off"], isReadyWhen: "ready")
    }

    /// One iOS device and one Android device on the same channel.
    func register() throws {
        say("Registering an iOS and an Android device on the channel \"\(Self.channel)\"")
        let place = ["--topic", Self.topic, "--environment", Self.environment]
        try runOwn(["devices", "add", Self.phone, "--channels", Self.channel] + place)
        try runOwn(["devices", "add", Self.android, "--channels", Self.channel, "--fcm"])
    }

    /// One message for both, and its traces until it is completed.
    func publish() throws {
        say("Publishing one message for both; these are its traces")
        try runOwn(Self.publishing + ["--trace"])
    }

    /// What the stand-ins say that they received: a push for each device, or the demo has failed.
    func showReceived() throws {
        say("What the stand-ins for APNs and FCM received")
        let pushes = try received()
        for push in pushes { print(push.lines) }
        guard pushes.contains(where: { $0.device == Self.phone }) else {
            throw CommandError("the stand-in for APNs received no push")
        }
        guard pushes.contains(where: { $0.device == Self.android }) else {
            throw CommandError("the stand-in for FCM received no push")
        }
    }

    /// Prints commands to try and waits for Ctrl-C.
    func stay() throws {
        let own = CommandLine.arguments.first ?? "pushbridge"
        say("Everything stays until Ctrl-C. Try in another terminal:")
        print(
            """
            export PUSHBRIDGE_REDIS_URL=unix://\(socket)
            \(own) tail
            \(own) \(ShellWords.text(Self.publishing)) --trace
            \(own) devices on \(Self.channel)
            redis-cli -s \(socket) PUBLISH \(Self.channel) '\(Self.message)'
            curl -s \(controlURL)/received
            """
        )
        while !interruption.hasCome {
            for server in started where server.exit != nil {
                if interruption.hasCome { return }
                throw CommandError("the \(server.name) has ended; it said:\n\(server.output.suffix(2000))")
            }
            // The wait for its end is the pause between two looks.
            _ = started.last?.process.wait(within: .milliseconds(200))
        }
    }

    /// Ends what was started, the last first; the folder goes with this object.
    func stop() {
        for server in started.reversed() { server.process.stop(grace: .seconds(5)) }
        started = []
    }

    // MARK: Parts of steps

    private static let publishing = [
        "publish", channel, "--title", "Hello", "--body", "from the demo", "--topic", topic, "--environment",
        environment,
        "--fcm",
    ]

    private static let message = """
        {"pn_debug":true,"pn_apns":{"aps":{"alert":"Hello"},"pn_push":[{"targets":[{"topic":"\(topic)",\
        "environment":"\(environment)"}]}]},"pn_fcm":{"notification":{"title":"Hello"}}}
        """

    private func start(
        _ name: String,
        program: String,
        _ arguments: [String],
        isReadyWhen text: String
    ) throws {
        let server: LoggedProcess
        do {
            server = try LoggedProcess(
                name,
                program: program,
                arguments: arguments,
                environment: surroundings,
                folder: folder
            )
        } catch {
            let advice = name == "redis-server" ? "; on Debian the package redis-server brings it" : ""
            throw CommandError("\(name) did not start: \(error)\(advice)")
        }
        started.append(server)
        try server.waitUntilOutput(contains: text, within: .seconds(15)) { interruption.hasCome }
    }

    /// Runs a command of this program to its end and shows it, as a person would have typed it.
    private func runOwn(_ arguments: [String]) throws {
        print("$ pushbridge \(ShellWords.text(arguments))")
        let process = try ChildProcess(Self.program, arguments, environment: surroundings)
        let deadline = LoopInstant.current + .seconds(30)
        while true {
            if interruption.hasCome { throw CommandError("interrupted") }
            if let exit = process.wait(within: .milliseconds(100)) {
                guard exit == .code(0) else { throw CommandError("\"pushbridge \(arguments[0])\" failed: \(exit)") }
                return
            }
            guard LoopInstant.current < deadline else {
                throw CommandError("\"pushbridge \(arguments[0])\" did not end within 30 seconds")
            }
        }
    }

    /// The settings that lead to the stand-ins, as the simulator has written them down.
    private func readSettings(_ path: String) throws {
        let text = String(decoding: try File.read(path), as: UTF8.self)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            if parts[0] == "SIMULATOR_CONTROL_URL" {
                controlURL = String(parts[1])
            } else {
                surroundings[String(parts[0])] = String(parts[1])
            }
        }
    }

    private func received() throws -> [ReceivedPush] {
        let request = HTTPSClient.Request("GET", "\(controlURL)/received")
        let response = try waiting { try await HTTPSClient.perform(request) }
        return response.body.split(separator: UInt8(ascii: "\n")).compactMap { ReceivedPush(line: Array($0)) }
    }

    private func say(_ sentence: String) {
        print("\n== \(sentence)")
    }

    private func print(_ text: String) {
        StandardStream.output.write("\(text)\n")
    }
}
