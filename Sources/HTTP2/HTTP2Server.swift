package import Transport

/// Accepts HTTP/2 connections on one port; confined to its loop.
///
/// Lives until `close()`.
package final class HTTP2Server {
    /// The connections that stand, in no order.
    package var connections: [HTTP2ServerConnection] { Array(members.values) }
    /// How many were accepted so far.
    package private(set) var acceptedCount = 0
    /// Cleared by `close()`.
    package private(set) var handler: (any HTTP2ServerConnectionHandler)?

    /// For the connections that come from now on.
    package var options: HTTP2ServerOptions
    private var listener: Listener?
    private var members: [Int: HTTP2ServerConnection] = [:]

    /// Listens at once; loop only.
    ///
    /// The TLS context must offer `h2`; without TLS clients need prior knowledge (RFC 9113 section 3.3).
    package init(
        _ endpoint: Endpoint,
        tls: TLSServerContext?,
        options: HTTP2ServerOptions,
        on loop: EventLoop,
        handler: any HTTP2ServerConnectionHandler
    ) throws(TransportError) {
        self.options = options
        self.handler = handler
        listener = try Listener(endpoint, tls: tls, on: loop) { stream in self.accept(stream) }
    }

    /// The port in use.
    package var port: UInt16 { listener?.port ?? 0 }

    /// Stops listening and drops the connections.
    package func close() {
        listener?.close()
        listener = nil
        for connection in connections { connection.drop() }
    }

    private func accept(_ stream: ByteStream) -> (any ByteStreamHandler)? {
        acceptedCount += 1
        if options.refusesConnections { return nil }
        guard let connection = try? HTTP2ServerConnection(on: stream, options: options, handler: self) else {
            return nil
        }
        connection.identifier = acceptedCount
        members[acceptedCount] = connection
        return connection
    }
}

extension HTTP2Server: HTTP2ServerConnectionHandler {
    package func connectionOpened(_ connection: HTTP2ServerConnection) {
        handler?.connectionOpened(connection)
    }

    package func connection(_ connection: HTTP2ServerConnection, received request: HTTP2ServerRequest) {
        handler?.connection(connection, received: request)
    }

    package func connection(_ connection: HTTP2ServerConnection, receivedOn streamID: Int32) {
        handler?.connection(connection, receivedOn: streamID)
    }

    package func connectionClosed(_ connection: HTTP2ServerConnection) {
        members[connection.identifier] = nil
        handler?.connectionClosed(connection)
        if listener == nil, members.isEmpty { handler = nil }
    }
}
