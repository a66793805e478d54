/// A complete request as a server session received it.
package struct HTTP2ServerRequest: Equatable, Sendable {
    package let streamID: Int32
    package internal(set) var method = ""
    package internal(set) var authority = ""
    /// The whole `:path`.
    package internal(set) var path = ""
    /// Without pseudo-headers.
    package internal(set) var headers: [HTTP2HeaderField] = []
    /// At most `HTTP2ServerSession.maximumRequestBytes`; the rest of a longer body is dropped.
    package internal(set) var body: [UInt8] = []
    /// The body's whole length, also of what was dropped.
    package internal(set) var bodyCount = 0

    /// Whether more streams were open when it began than the peer was last told that it may open.
    package internal(set) var isOverLimit = false

    init(streamID: Int32) {
        self.streamID = streamID
    }

    /// The value of the first header of that name as text.
    package func header(_ name: String) -> String? { headers.text(name) }

    mutating func add(_ header: HTTP2HeaderField) {
        switch header.name {
        case ":method": method = header.text
        case ":path": path = header.text
        case ":authority": authority = header.text
        case ":scheme": break
        // 256: far beyond any real request.
        default: if headers.count < 256 { headers.append(header) }
        }
    }
}

/// A response prepared once and sent many times; never changed once made, and confined to the loop of its sessions.
package final class HTTP2ResponseTemplate {
    let headers: HeaderBlock
    let body: [UInt8]

    /// Throws `HTTP2Error.header` for what HTTP/2 cannot carry.
    package init(status: Int, headers: [HTTP2HeaderField] = [], body: [UInt8] = []) throws(HTTP2Error) {
        for header in headers { try header.validate() }
        self.headers = HeaderBlock([HTTP2HeaderField(":status", String(status))] + headers)
        self.body = body
    }
}
