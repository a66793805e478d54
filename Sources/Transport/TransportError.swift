/// What goes wrong between this process and the system or the network.
///
/// Every case describes itself in a sentence for people; the texts of the system and of OpenSSL are kept.
package enum TransportError: Error, Equatable, Sendable {
    /// A host name has no address.
    case resolution(host: String, reason: String)
    /// No connection came about; the endpoint was reached by name but did not accept.
    case connect(endpoint: Endpoint, reason: String)
    /// The TLS handshake failed, or a record was broken.
    case tls(String)
    /// Something took longer than it may.
    case deadline(String)
    /// An established connection was lost.
    case connection(String)
    /// A call to the system failed.
    case system(call: String, code: Int32)
    /// A value given to this target cannot be used: a certificate, a key, a path, a URL.
    case unusable(String)
    /// The loop has ended, so nothing can be run on it any more.
    case stopped
}

extension TransportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .resolution(let host, let reason): "the host name \(host) cannot be resolved: \(reason)"
        case .connect(let endpoint, let reason): "no connection to \(endpoint): \(reason)"
        case .tls(let text): "TLS: \(text)"
        case .deadline(let text): text
        case .connection(let text): "the connection was lost: \(text)"
        case .system(let call, let code): "\(call) failed: \(systemErrorText(code))"
        case .unusable(let text): text
        case .stopped: "the event loop has ended"
        }
    }
}
