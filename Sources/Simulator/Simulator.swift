import Encoding
import HTTP2
package import Transport

/// Stand-ins for APNs in both environments, FCM, and Google's token endpoint, over real TLS and HTTP/2.
///
/// START HERE in this target: each connection is a ``StandInConnection``, whose ``StandInService`` decides on the
/// answer: the checks of `Faithful/` first, then the user's ``Script``. What came is kept in the ``Oracle``. The
/// control interface is plain HTTP on the loopback address. Confined to one loop; only the control interface's threads
/// hop onto it.
package final class Simulator {
    package let credentials: SimulatorCredentials
    package let options: SimulatorOptions

    private let loop: EventLoop
    private let state: StandInState
    private let tokenService: TokenStandIn
    private var servers: [StandInServer] = []
    private var control: HTTPServer?
    private var cutTimer: LoopTimer?

    /// Listens at once; loop only.
    package init(
        options: SimulatorOptions,
        credentials: SimulatorCredentials,
        on loop: EventLoop
    ) throws {
        loop.preconditionOnLoop()
        self.options = options
        self.credentials = credentials
        self.loop = loop
        state = StandInState(options)
        tokenService = TokenStandIn(state: state)
        let tls = try Self.tls(options, credentials)
        let clients = TLSServerContext.Clients(
            authorityPEM: credentials.authority.certificatePEM,
            isDemanded: options.demandsCertificate
        )
        let apnsTLS = options.isLean ? tls : try Self.tls(options, credentials, clients: clients)
        let check = APNsCheck(tokens: APNsTokenCheck(keys: credentials.tokenKeys))
        let production = APNsStandIn(environment: "production", check: check, state: state)
        let development = APNsStandIn(environment: "development", check: check, state: state)
        let fcm = FCMStandIn(projectID: credentials.projectID, tokens: tokenService, state: state)
        try listen(production, options.ports.apnsProduction, apnsTLS, isLean: options.isLean)
        try listen(development, options.ports.apnsDevelopment, apnsTLS, isLean: options.isLean)
        try listen(fcm, options.ports.fcm, tls, isLean: options.isLean)
        try listen(tokenService, options.ports.token, tls, isLean: false)
        tokenService.check = TokenEndpointCheck(
            key: credentials.serviceAccountKey,
            clientEmail: credentials.clientEmail,
            audience: tokenURL
        )
        state.conductChanged = { self.apply($0) }
        apply(options.conduct)
        let commands = ControlCommands(state: LoopConfined(state, on: loop), loop: loop)
        control = try HTTPServer(host: options.address, port: options.ports.control, handler: commands.answer)
    }

    /// Ends all connections and listens no more; loop only.
    package func close() {
        cutTimer?.cancel()
        state.conductChanged = { _ in }
        for server in servers { server.close() }
        control?.stop()
    }

    // MARK: Where it is

    package var apnsProductionURL: String { url(of: 0) }
    package var apnsDevelopmentURL: String { url(of: 1) }
    package var fcmURL: String { url(of: 2) }
    package var tokenURL: String { url(of: 3) + "/token" }
    package var controlURL: String { "http://\(options.host):\(control?.port ?? 0)" }

    private func url(of index: Int) -> String {
        "https://\(options.host):\(servers[index].port)"
    }

    // MARK: What came

    /// What was received, as JSON lines; loop only.
    package var received: [UInt8] { state.oracle.text() }

    /// How many requests came for `apns`, `fcm` or `token`; loop only.
    package func arrivalCount(of name: String) -> Int { state.arrivals[name]?.count ?? 0 }

    /// The answers from now on; loop only.
    package func setScript(_ script: Script) { state.script = script }

    /// How connections behave from now on; loop only.
    package func setConduct(_ conduct: Conduct) { state.conduct = conduct }

    private func apply(_ conduct: Conduct) {
        for server in servers { server.apply(conduct) }
        cutTimer?.cancel()
        cutTimer = nil
        planCut(conduct)
    }

    private func planCut(_ conduct: Conduct) {
        guard let interval = conduct.cutInterval else { return }
        cutTimer = loop.schedule(after: interval) {
            self.state.cutBusiest(conduct.cut)
            self.planCut(conduct)
        }
    }

    /// What was counted of pushes by their names, as JSON; loop only.
    package var tally: [UInt8]? { state.tally?.text }

    /// Announces another stream limit on the connections that stand; loop only.
    package func setStreamLimit(_ limit: UInt32) {
        for connection in state.connections { connection.setStreamLimit(limit) }
    }

    private static func tls(
        _ options: SimulatorOptions,
        _ credentials: SimulatorCredentials,
        clients: TLSServerContext.Clients? = nil
    ) throws -> TLSServerContext {
        let names = options.host == "localhost" ? [] : [options.host]
        let hosts = options.certificateFault == .host ? ["other.example"] : ["localhost", "127.0.0.1", "::1"] + names
        let validity = options.certificateFault == .expired ? -7200 ... -3600 : -3600...31_536_000
        let isForeign = options.certificateFault == .authority
        let authority = isForeign ? try CertificateAuthority(name: "unknown to all") : credentials.authority
        let key = try authority.issue(hosts: hosts, secondsFromNow: validity)
        return try TLSServerContext(
            certificateChainPEM: key.chainPEM,
            keyPEM: key.keyPEM,
            alpn: ["h2"],
            clients: clients
        )
    }

    private func listen(
        _ service: any StandInService,
        _ port: UInt16,
        _ tls: TLSServerContext,
        isLean: Bool
    ) throws {
        let answer = isLean && !options.isRecording ? try Self.leanAnswer(of: service, credentials) : nil
        servers.append(
            try StandInServer(service, port: port, tls: tls, leanAnswer: answer, state: state, on: loop)
        )
    }

    private static func leanAnswer(
        of service: any StandInService,
        _ credentials: SimulatorCredentials
    ) throws -> HTTP2ResponseTemplate {
        guard service is FCMStandIn else { return try HTTP2ResponseTemplate(status: 200) }
        let body = "{\"name\":\"projects/\(credentials.projectID)/messages/1\"}"
        return try HTTP2ResponseTemplate(status: 200, headers: [StandInAnswer.json], body: Array(body.utf8))
    }
}
