/// Where a byte stream leads to: a TCP port of a host, or a unix socket.
package enum Endpoint: Hashable, Sendable {
    /// The host is a name or an address as text, IPv6 without brackets.
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    /// The name or address that a server's certificate must carry; none for a unix socket.
    package var hostName: String? {
        guard case .tcp(let host, _) = self else { return nil }
        return host
    }
}

extension Endpoint: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): path
        }
    }
}
