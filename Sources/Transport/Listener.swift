import CLinux
import Glibc

/// Accepts byte streams on a TCP port or a unix socket; confined to its loop.
package final class Listener: DescriptorWatcher {
    package let endpoint: Endpoint
    /// The port in use, also if any was asked for; 0 for a unix socket.
    package let port: UInt16

    // At most so many in one turn, so that a storm of connections leaves the others their turn.
    private static let acceptsPerTurn = 64

    private let tls: TLSServerContext?
    private let loop: EventLoop
    private let handshakeDeadline: Duration
    private let accept: (ByteStream) -> (any ByteStreamHandler)?
    private let family: Int32
    private var descriptor: Descriptor?
    private var token: Poller.Token?
    private var pause: LoopTimer?

    /// Binds and listens at once; loop only.
    ///
    /// Port 0 is any free port; the host must be an address or a local name.
    ///
    /// `accept` gives the handler of each new stream, or nil to close it. The handler hears `byteStreamConnected` when
    /// TLS stands too, for which the peer has `handshakeDeadline`.
    package init(
        _ endpoint: Endpoint,
        tls: TLSServerContext? = nil,
        handshakeDeadline: Duration = .seconds(10),
        on loop: EventLoop,
        accept: @escaping (ByteStream) -> (any ByteStreamHandler)?
    ) throws(TransportError) {
        loop.preconditionOnLoop()
        self.endpoint = endpoint
        self.tls = tls
        self.loop = loop
        self.handshakeDeadline = handshakeDeadline
        self.accept = accept
        let address = try Self.address(of: endpoint)
        family = address.family
        let socket = try Self.socket(on: address, of: endpoint)
        port = try SocketAddress(ofSocket: socket.number).port
        descriptor = consume socket
        try listenOn()
    }

    /// Accepts no more; streams that were accepted live on.
    ///
    /// A unix socket's file is removed.
    package func close() {
        loop.preconditionOnLoop()
        pause?.cancel()
        stopListening()
        removeSocket()
    }

    private func removeSocket() {
        guard descriptor != nil else { return }
        descriptor = nil
        if case .unix(let path) = endpoint { unsafe unlink(path) }
    }

    func descriptorReady(_ events: PollEvents) {
        for _ in 0..<Self.acceptsPerTurn {
            guard descriptor != nil, acceptOne() else { return }
        }
    }

    func loopEnded() {
        removeSocket()
    }

    /// False if there is none left.
    private func acceptOne() -> Bool {
        guard let number = descriptor?.number else { return false }
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let accepted = retryingInterrupts { accept4(number, nil, nil, flags) }
        guard accepted >= 0 else {
            switch errno {
            case ECONNABORTED, EPROTO, EPERM: return true
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: restLater()
            default: break
            }
            return false
        }
        Socket.tune(accepted, family: family)
        let stream = ByteStream(accepted: Descriptor(accepted), from: self.endpoint, on: loop)
        guard let handler = accept(stream) else {
            stream.close()
            return true
        }
        stream.begin(handler, tls: tls, deadline: handshakeDeadline)
        return true
    }

    /// Without a free descriptor the waiting connection would wake the loop without end: a pause.
    private func restLater() {
        stopListening()
        pause = loop.schedule(after: .milliseconds(100)) { [weak self] in
            // If it fails here there are no resources at all; the next connection attempt to this port tells.
            try? self?.listenOn()
        }
    }

    private func listenOn() throws(TransportError) {
        guard let number = descriptor?.number, token == nil else { return }
        token = try loop.poller.add(number, .input, self)
    }

    private func stopListening() {
        guard let number = descriptor?.number, let token else { return }
        loop.poller.remove(number, token)
        self.token = nil
    }

    /// A socket that listens on the endpoint, one of whose addresses is given.
    static func socket(on address: SocketAddress, of endpoint: Endpoint) throws(TransportError) -> Descriptor {
        let socket = try Socket.make(family: address.family)
        Socket.set(SO_REUSEADDR, level: SOL_SOCKET, 1, on: socket.number)
        do {
            try checked("bind") { unsafe address.withPointer { unsafe bind(socket.number, $0, $1) } }
            // The system's own maximum cuts this.
            try checked("listen") { listen(socket.number, 4096) }
        } catch {
            guard case .system(_, let code) = error else { throw error }
            throw .connect(endpoint: endpoint, reason: "it cannot be listened on: \(systemErrorText(code))")
        }
        return socket
    }

    /// The first address of the endpoint, to listen on.
    static func address(of endpoint: Endpoint) throws(TransportError) -> SocketAddress {
        switch endpoint {
        case .unix(let path): return try SocketAddress(unixPath: path)
        case .tcp(let host, let port):
            let addresses = try Resolver.lookUp(host: host, port: port, flags: AI_PASSIVE)
            guard let first = addresses.first else { throw .resolution(host: host, reason: "it has no address") }
            return first
        }
    }
}
