package import Transport
package import Worker

/// What the worker offers over HTTP: health and readiness.
///
/// Off the hot path: the server has a thread of its own, and asks the worker's loop only when it is asked. Made and
/// stopped on any thread but the loop's.
package final class HTTPInterface: Sendable {
    /// How long the loop may take to answer: a turn of it takes milliseconds.
    static let patience: Duration = .seconds(2)

    /// Where it listens, with the port in use.
    package let address: ListenAddress
    private let server: HTTPServer

    /// Listens at once.
    package init(_ address: ListenAddress, worker: Worker, loop: EventLoop) throws(TransportError) {
        let worker = LoopConfined(worker, on: loop)
        let probes = Probes(
            isTurning: { loop.wait(within: Self.patience) { true } ?? false },
            readiness: { loop.wait(within: Self.patience) { worker.value.readiness } }
        )
        server = try HTTPServer(host: address.host, port: address.port, maximumBodyBytes: 1 << 16) { probes.answer($0) }
        self.address = ListenAddress(host: address.host, port: server.port)
    }

    /// The interface that the settings ask for; nil if it is off.
    ///
    /// An address that was set must be had. The default one need not: another program may use it, also another worker
    /// on the same machine.
    package static func open(
        _ settings: Settings,
        worker: Worker,
        loop: EventLoop,
        log: Log
    ) throws(TransportError) -> HTTPInterface? {
        guard let address = settings.httpAddress else { return nil }
        do {
            let interface = try HTTPInterface(address, worker: worker, loop: loop)
            log.info("listens for HTTP", ["address": interface.address.description])
            return interface
        } catch {
            guard !settings.isHTTPAddressSet else { throw error }
            log.warning(
                "there is no HTTP interface: its default address cannot be had (PUSHBRIDGE_HTTP_ADDRESS sets another)",
                ["address": address.description, "error": "\(error)"]
            )
            return nil
        }
    }

    /// Ends it, after what is being answered.
    package func stop() {
        server.stop()
    }
}
