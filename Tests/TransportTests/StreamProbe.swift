import Transport

/// A handler that records what a stream tells it, and can echo.
///
/// Confined to its loop.
final class StreamProbe: ByteStreamHandler {
    enum Event: Equatable {
        case connected, drained, closed(TransportError?)
    }

    var stream: ByteStream?
    var events: [Event] = []
    var received: [UInt8] = []
    var receivedCount = 0
    var callsAfterClosed = 0
    var onReceived: ((ByteStream, [UInt8]) -> Void)?
    var onConnected: ((ByteStream) -> Void)?
    var onDrained: ((ByteStream) -> Void)?
    var onClosed: ((ByteStream) -> Void)?
    var keepsBytes = true
    /// Handles several streams, one after the other.
    var servesMany = false

    var isConnected: Bool { events.contains(.connected) }
    var isClosed: Bool { closeCount > 0 }
    var closeCount: Int {
        events.count { event in
            guard case .closed = event else { return false }
            return true
        }
    }
    var closeError: TransportError? {
        for case .closed(let error) in events { return error }
        return nil
    }

    private func record(_ event: Event) {
        if isClosed { callsAfterClosed += 1 }
        events.append(event)
    }

    func byteStreamConnected(_ stream: ByteStream) {
        record(.connected)
        onConnected?(stream)
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        if isClosed { callsAfterClosed += 1 }
        receivedCount += bytes.byteCount
        if keepsBytes || onReceived != nil {
            let copy = bytes.copiedBytes
            if keepsBytes { received += copy }
            onReceived?(stream, copy)
        }
    }

    func byteStreamDrained(_ stream: ByteStream) {
        record(.drained)
        onDrained?(stream)
    }

    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        record(.closed(error))
        onClosed?(stream)
        // They often hold the probe itself.
        if !servesMany { (onConnected, onReceived, onDrained, onClosed) = (nil, nil, nil, nil) }
    }
}
