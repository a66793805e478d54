/// What can go wrong with a session or a message before or beside a request's own answer.
package enum HTTP2Error: Error, Equatable {
    /// The peer broke the protocol, or the library could not go on; the session is over.
    case session(String)
    /// A header's name or value may not be sent in HTTP/2 (RFC 9113 section 8.2.1).
    case header(name: String, reason: String)
    /// The session has ended or is ending: it takes no new message.
    case closed
}

extension HTTP2Error: CustomStringConvertible {
    package var description: String {
        switch self {
        case .session(let text): "the HTTP/2 session failed: \(text)"
        case .header(let name, let reason): "the header \(name) cannot be sent over HTTP/2: \(reason)"
        case .closed: "the HTTP/2 session has ended"
        }
    }
}
