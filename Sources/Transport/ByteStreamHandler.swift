/// What a byte stream tells its owner; all calls are on the stream's loop, and from its own stack, never from within
/// a call that the owner makes to the stream.
package protocol ByteStreamHandler: AnyObject {
    /// TCP and TLS stand; on an accepted stream too.
    func byteStreamConnected(_ stream: ByteStream)
    /// Bytes have come; they are valid only during the call.
    func byteStream(_ stream: ByteStream, received bytes: RawSpan)
    /// The waiting output fell to the low-water mark after it was over the high one.
    func byteStreamDrained(_ stream: ByteStream)
    /// The last call, exactly once. No error: the peer ended the stream in order, or `close()` was called.
    func byteStreamClosed(_ stream: ByteStream, error: TransportError?)
}

extension ByteStreamHandler {
    package func byteStreamConnected(_ stream: ByteStream) {}
    package func byteStreamDrained(_ stream: ByteStream) {}
}

/// Stands in for a handler after the stream has closed, so that stream and handler do not keep each other alive.
final class AbsentHandler: ByteStreamHandler, Sendable {
    static let shared = AbsentHandler()

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {}
    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {}
}
