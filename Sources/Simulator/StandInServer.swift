import HTTP2
import Transport

/// One listener of a simulator: its connections, and the service behind them.
///
/// Confined to the simulator's loop.
final class StandInServer: HTTP2ServerConnectionHandler {
    private let service: any StandInService
    private let state: StandInState
    private let loop: EventLoop
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
        self.leanAnswer = leanAnswer
        let isLean = leanAnswer != nil || state.options.isLean
        var settings = HTTP2Settings(maximumConcurrentStreams: isLean ? 1000 : service.initialStreamLimit)
        if isLean {
            settings.initialWindowSize = 1 << 20
            settings.connectionWindowSize = 1 << 26
        }
        server = try HTTP2Server(
            .tcp(host: state.options.address, port: port),
            tls: tls,
            options: HTTP2ServerOptions(settings: settings, keepsRequests: leanAnswer == nil),
            on: loop,
            handler: self
        )
    }

    var port: UInt16 { server?.port ?? 0 }

    func close() {
        server?.close()
        server = nil
    }

    func connection(_ connection: HTTP2ServerConnection, receivedOn streamID: Int32) {
        guard let leanAnswer else { return }
        state.count(service.name)
        state.opened(connection, on: loop)
        connection.respond(streamID, with: leanAnswer)
    }

    func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest) {
        let remembered = state.opened(connection, on: loop)
        if remembered.isOverLimit { return service.tooManyStreams(remembered, streamID: request.streamID) }
        state.count(service.name)
        remembered.perform(service.answer(ReceivedRequest(request), on: remembered), on: request.streamID)
    }

    func connectionClosed(_ connection: HTTP2ServerConnection) {
        state.closed(connection)
    }
}
