package import Transport

/// Stands between a client and a server, on a unix socket, and can stop forwarding without closing anything.
///
/// Confined to its loop.
package final class StallingProxy {
    private let target: Endpoint
    private let loop: EventLoop
    private var listener: Listener?
    private var pairs: [Pair] = []

    /// Listens at once; loop only.
    package init(at path: String, to target: Endpoint, on loop: EventLoop) throws {
        self.target = target
        self.loop = loop
        listener = try Listener(.unix(path: path), on: loop) { [unowned self] stream in accept(stream) }
    }

    /// How many connections were made.
    package private(set) var acceptedCount = 0

    /// The connections over which the client has sent these bytes pass nothing on any more, in either direction.
    ///
    /// Those that are made later do.
    package func stall(whereSent text: String) {
        for pair in pairs where pair.hasSent(Array(text.utf8)) { pair.isStalled = true }
    }

    package func close() {
        listener?.close()
        listener = nil
        for pair in pairs { pair.close() }
        pairs = []
    }

    private func accept(_ client: ByteStream) -> any ByteStreamHandler {
        acceptedCount += 1
        let pair = Pair(client: client, target: target, loop: loop)
        pairs.append(pair)
        return pair
    }
}

/// One connection and its continuation.
private final class Pair: ByteStreamHandler {
    var isStalled = false
    private let client: ByteStream
    private var server: ByteStream?
    private var sent: [UInt8] = []
    /// What came before the server's connection stood.
    private var waiting: [UInt8] = []
    private var isConnected = false

    init(client: ByteStream, target: Endpoint, loop: EventLoop) {
        self.client = client
        server = ByteStream.connect(to: target, tls: nil, deadline: .seconds(5), on: loop, handler: self)
    }

    func hasSent(_ bytes: [UInt8]) -> Bool {
        guard sent.count >= bytes.count else { return false }
        return (0...(sent.count - bytes.count)).contains { sent[$0...].starts(with: bytes) }
    }

    func close() {
        client.close()
        server?.close()
        server = nil
    }

    func byteStreamConnected(_ stream: ByteStream) {
        guard stream === server else { return }
        isConnected = true
        stream.write(waiting)
        waiting = []
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        guard !isStalled else { return }
        guard stream === client else { return client.write(bytes) }
        if sent.count < 4096 { sent += bytes.copiedBytes }
        if isConnected { server?.write(bytes) } else { waiting += bytes.copiedBytes }
    }

    func byteStreamDrained(_ stream: ByteStream) {}

    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        if !isStalled { close() }
    }
}
