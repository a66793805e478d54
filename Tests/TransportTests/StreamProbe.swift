import Testing
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
    }
}

/// A loop on its own thread for one test, stopped at its end.
@discardableResult
func withLoop<Result>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop.onNewThread(named: "test loop")
    defer { loop.stop() }
    return try await body(loop)
}

struct TookTooLong: Error, CustomStringConvertible {
    let description: String
}

extension EventLoop {
    /// Looks again each millisecond until the condition holds, at most for the duration.
    func wait(
        for what: String,
        within limit: Duration = .seconds(20),
        until condition: @escaping @Sendable () throws -> Bool
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            execute {
                ConditionWait(what: what, end: self.now + limit, condition: condition, continuation: continuation)
                    .look(on: self)
            }
        }
    }
}

private struct ConditionWait {
    let what: String
    let end: LoopInstant
    let condition: () throws -> Bool
    let continuation: CheckedContinuation<Void, any Error>

    func look(on loop: EventLoop) {
        do {
            if try condition() { return continuation.resume() }
            guard loop.now < end else { throw TookTooLong(description: "\(what) took too long") }
            loop.schedule(after: .milliseconds(1)) { look(on: loop) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
