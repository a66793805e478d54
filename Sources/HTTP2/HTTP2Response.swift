/// A complete answer to a request.
package struct HTTP2Response: Equatable, Sendable {
    package let status: Int
    /// At most `HTTP2ClientSession.maximumResponseBytes`; the rest of a longer body is dropped.
    package let body: [UInt8]
    /// Without pseudo-headers; empty for status 200 unless the session keeps them all.
    package let headers: [HTTP2HeaderField]

    package init(status: Int, body: [UInt8] = [], headers: [HTTP2HeaderField] = []) {
        self.status = status
        self.body = body
        self.headers = headers
    }

    /// The value of the first header of that name as text.
    package func header(_ name: String) -> String? { headers.text(name) }
}

/// Why a request has no answer, and with that whether it may be repeated without risk of doing it twice.
package enum HTTP2Failure: Equatable, Sendable {
    /// The peer has not acted on it: REFUSED_STREAM, above a GOAWAY's last stream (RFC 9113 section 8.7), or never
    /// handed to the system in full.
    case notProcessed(reason: String)
    /// It was written, and the connection was lost, the stream reset or the deadline passed: the peer may have acted.
    case unanswered(reason: String)

    package var reason: String {
        switch self {
        case .notProcessed(let reason), .unanswered(let reason): reason
        }
    }
}

/// The peer's announcement that it ends the connection (RFC 9113 section 6.8).
package struct HTTP2GoAway: Equatable, Sendable {
    package let lastStreamID: Int32
    package let errorCode: HTTP2ErrorCode
    /// Additional debug data; APNs may put `{"reason": …}` here, Google a word.
    package let debugData: [UInt8]

    package init(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: [UInt8]) {
        self.lastStreamID = lastStreamID
        self.errorCode = errorCode
        self.debugData = debugData
    }
}
