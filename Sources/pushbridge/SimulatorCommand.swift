import Encoding
import Simulator
import Transport
import Worker

/// `pushbridge simulator`: stand-ins for the providers, until it is told to stop.
enum SimulatorCommand: Command {
    static let specification = CommandSpecification(
        name: "simulator",
        summary: "stand-in for APNs, FCM and Google's token endpoint, over real TLS and HTTP/2",
        options: [
            Option("folder", "FOLDER", "where its certificate, its credentials and simulator.env are written (needed)"),
            Option(
                "host",
                "NAME",
                "the name that clients use; default: localhost. Another one is served on all addresses"
            ),
            Option("lean", nil, "answer at once with as little work as possible: nothing is checked, nothing is kept"),
            Option("record", nil, "with --lean: keep what was received, and check it, after all"),
            Option("record-devices", "PREFIX", "keep only pushes to tokens that begin so"),
            Option("rate", "NUMBER", "answer at most so many requests a second; the others wait for their turn"),
            Option("delay-ms", "NUMBER", "how far away it is: answers and credit are held back so long"),
            Option(
                "window",
                "BYTES",
                "send window of its connections; default: 65535, with --lean one that never fills"
            ),
            Option("streams", "NUMBER", "streams of a connection; default: as the provider has it, with --lean 1000"),
            Option(
                "certificate-topics",
                "TOPICS",
                "topics of certificate.pem, with commas between; default: com.example.app and its .voip"
            ),
            Option("demand-certificate", nil, "APNs takes no connection without a certificate"),
            Option("script", "FILE", "answers by rules: a JSON array, as for POST /script"),
            Option("conduct", "FILE", "faults of connections: a JSON object, as for POST /conduct"),
            Option("tally", nil, "count pushes to APNs by their apns-id, for GET /tally"),
            Option("wrong-certificate", "FAULT", "host, expired or authority: what is wrong with its certificate"),
            Option("apns-production-port", "PORT", "default: any free port; so for the others"),
            Option("apns-development-port", "PORT", "stand-in for APNs, development"),
            Option("fcm-port", "PORT", "stand-in for FCM"),
            Option("token-port", "PORT", "stand-in for the token endpoint"),
            Option("control-port", "PORT", "control interface"),
        ],
        notes: [
            "simulator.env holds the settings that lead a worker here; certificate.pem is a client certificate with its "
                + "key that its APNs takes (PUSHBRIDGE_APNS_CERTIFICATE_FILE). The control interface is plain HTTP: "
                + "GET /received (JSON lines; ?from=N leaves out the first N), GET /stats, GET /tally, POST /reset, "
                + "POST /script, POST /conduct, POST /connections/drop (or reset, mute), POST /connections/goaway, "
                + "POST /connections/streams?limit=N.",
            "What scripts and conducts may have is in docs/simulator.md.",
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let folder = try invocation.arguments.required("folder")
        let options = try options(invocation.arguments)
        Signals.block()
        let loop = try EventLoop()
        let simulator = try Simulator(options: options, credentials: SimulatorCredentials(), on: loop)
        let topics = invocation.arguments["certificate-topics"] ?? "com.example.app,com.example.app.voip"
        try SimulatorFiles(folder: folder, certificateTopics: topics.split(separator: ",").map(String.init))
            .write(simulator)
        let signals = try Signals(on: loop) { _ in loop.stop() }
        StandardStream.output.write("ready: settings for a worker are in \(folder)/simulator.env\n")
        StandardStream.output.write("control interface: \(simulator.controlURL)\n")
        loop.run()
        signals.close()
        return .good
    }

    private static func options(_ arguments: Arguments) throws -> SimulatorOptions {
        var options = SimulatorOptions()
        options.host = arguments["host"] ?? options.host
        options.isLean = arguments.has("lean")
        options.isRecording = !options.isLean || arguments.has("record")
        options.recordedDevices = arguments["record-devices"]
        options.answersPerSecond = try arguments.integer("rate", in: 1...10_000_000)
        options.distance = .milliseconds(try arguments.integer("delay-ms", in: 0...3_600_000) ?? 0)
        options.windowBytes = try arguments.integer("window", in: 65_535...1_000_000_000)
        options.streamLimit = try arguments.integer("streams", in: 0...1_000_000)
        options.demandsCertificate = arguments.has("demand-certificate")
        options.isTallied = arguments.has("tally")
        if let path = arguments["conduct"] { options.conduct = try Conduct(try File.read(path)) }
        if let name = arguments["wrong-certificate"] {
            guard let fault = SimulatorOptions.CertificateFault(rawValue: name) else {
                throw UsageError("--wrong-certificate may be host, expired or authority")
            }
            options.certificateFault = fault
        }
        if let path = arguments["script"] { options.script = try Script(try File.read(path)) }
        options.ports.apnsProduction = try port(arguments, "apns-production-port")
        options.ports.apnsDevelopment = try port(arguments, "apns-development-port")
        options.ports.fcm = try port(arguments, "fcm-port")
        options.ports.token = try port(arguments, "token-port")
        options.ports.control = try port(arguments, "control-port")
        return options
    }

    private static func port(_ arguments: Arguments, _ name: String) throws -> UInt16 {
        UInt16(try arguments.integer(name, in: 0...65_535) ?? 0)
    }
}

/// The files that a simulator leaves for its clients.
private struct SimulatorFiles {
    let folder: String
    let certificateTopics: [String]

    func write(_ simulator: Simulator) throws {
        let credentials = simulator.credentials
        let key = "\(folder)/AuthKey_\(credentials.apnsKeyID).p8"
        let account = "\(folder)/service-account.json"
        let authority = "\(folder)/ca.pem"
        try File.write(credentials.authority.certificatePEM, to: authority, mode: 0o644)
        try File.write(try credentials.apnsKey.privatePEM(), to: key)
        let certificate = try credentials.certificate(topics: certificateTopics)
        try File.write(certificate.chainPEM + certificate.keyPEM, to: "\(folder)/certificate.pem")
        try File.write(try credentials.serviceAccountJSON(tokenURL: simulator.tokenURL), to: account)
        let settings = [
            ("PUSHBRIDGE_APNS_PRODUCTION_URL", simulator.apnsProductionURL),
            ("PUSHBRIDGE_APNS_DEVELOPMENT_URL", simulator.apnsDevelopmentURL),
            ("PUSHBRIDGE_APNS_KEY_FILE", key), ("PUSHBRIDGE_APNS_KEY_ID", credentials.apnsKeyID),
            ("PUSHBRIDGE_APNS_TEAM_ID", credentials.apnsTeamID), ("PUSHBRIDGE_FCM_URL", simulator.fcmURL),
            ("PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE", account), ("PUSHBRIDGE_CA_FILE", authority),
            ("SIMULATOR_CONTROL_URL", simulator.controlURL),
        ]
        let text = settings.map { "\($0.0)=\($0.1)\n" }.joined()
        try File.write(Array(text.utf8), to: "\(folder)/simulator.env", mode: 0o644)
    }
}
