import HTTP2
import Transport

/// One listener of a simulator: its connections, and the service behind them.
///
/// Confined to the simulator's loop.
final class StandInServer: HTTP2ServerConnectionHandler {
    private let service: any StandInService
    private let state: StandInState
    private let loop: EventLoop
    private let arrivals: Arrivals
    /// The one answer to everything; nil: requests are kept and checked.
    private let leanAnswer: HTTP2ResponseTemplate?
    private var server: HTTP2Server?

    init(
        _ service: any StandInService,
        port: UInt16,
        tls: TLSServerContext,
        leanAnswer: HTTP2ResponseTemplate?,
        state: StandInState,
        on loop: EventLoop
    ) throws(TransportError) {
        self.service = service
        self.state = state
        self.loop = loop
        arrivals = state.arrivals(of: service.name)
        self.leanAnswer = leanAnswer
        let isLean = leanAnswer != nil || state.options.isLean
        let streams = state.options.streamLimit.map(UInt32.init(clamping:))
        var options = HTTP2ServerOptions(
            settings: HTTP2Settings(
                maximumConcurrentStreams: streams ?? (isLean ? 1000 : service.initialStreamLimit)
            ),
            keepsRequests: leanAnswer == nil
        )
        let window = Int32(clamping: max(state.options.windowBytes ?? (isLean ? 1 << 26 : 65_535), 65_535))
        options.settings.initialWindowSize = UInt32(window)
        options.settings.connectionWindowSize = window
        options.outputDelay = state.options.distance
        server = try HTTP2Server(
            .tcp(host: state.options.address, port: port),
            tls: tls,
            options: options,
            on: loop,
            handler: self
        )
    }

    var port: UInt16 { server?.port ?? 0 }

    /// Treats the connections that come from now on so.
    func apply(_ conduct: Conduct) {
        guard service.name != "token" else { return }
        let conduct = conduct.isFor(service.name) ? conduct : Conduct()
        server?.options.settingsDelay = conduct.settingsDelay
        server?.options.ignoresPings = conduct.ignoresPings
        server?.options.refusesConnections = conduct.refusesConnections
    }

    func close() {
        server?.close()
        server = nil
    }

    func connectionOpened(_ connection: HTTP2ServerConnection) {
        let remembered = StandInConnection(connection, gateway: service.name, state: state, loop: loop)
        connection.companion = remembered
        state.opened(remembered)
        service.opened(remembered)
    }

    func connection(_ connection: HTTP2ServerConnection, receivedOn streamID: Int32) {
        guard let leanAnswer else { return }
        arrivals.add(on: loop)
        let delay = state.answerDelay(now: loop.now)
        guard delay > .zero else { return connection.respond(streamID, with: leanAnswer) }
        loop.schedule(after: delay) { connection.respond(streamID, with: leanAnswer) }
    }

    func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest) {
        guard let remembered = connection.companion as? StandInConnection else { return }
        if remembered.isUnprocessed(request.streamID) { return }
        if request.isOverLimit { return service.tooManyStreams(remembered, streamID: request.streamID) }
        arrivals.add(on: loop)
        let received = ReceivedRequest(request)
        remembered.received(received, on: request.streamID)
        let answer = service.answer(received, on: remembered)
        remembered.perform(answer, on: request.streamID, after: state.answerDelay(now: loop.now))
    }

    func connectionClosed(_ connection: HTTP2ServerConnection) {
        guard let remembered = connection.companion as? StandInConnection else { return }
        remembered.ended()
        state.closed(remembered)
    }
}
