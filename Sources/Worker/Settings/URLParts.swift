/// The parts of a URL as settings use them: `scheme://user:password@host:port/rest`.
///
/// Strict: anything unusual is refused rather than guessed (RFC 3986, section 3, without percent signs in hosts).
package struct URLParts: Equatable, Sendable {
    package let scheme: String
    /// What stands before `@`.
    package let userInfo: String?
    /// Without the brackets of an IPv6 address.
    package let host: String
    package let port: UInt16?
    /// From the first `/`, `?` or `#` after the host.
    package let rest: String

    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let pieces = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
        guard pieces.count == 2, !pieces[0].isEmpty else { return nil }
        scheme = pieces[0].lowercased()
        let end = pieces[1].firstIndex { "/?#".contains($0) } ?? pieces[1].endIndex
        rest = String(pieces[1][end...])
        var authority = pieces[1][..<end]
        if let at = authority.lastIndex(of: "@") {
            userInfo = String(authority[..<at])
            authority = authority[authority.index(after: at)...]
        } else {
            userInfo = nil
        }
        guard let address = HostAndPort(authority) else { return nil }
        host = address.host
        port = address.port
    }

    /// Whether the host is this machine by its name or address.
    package var isLoopback: Bool {
        host == "localhost" || host == "::1" || (host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." })
    }
}

/// `host`, `host:port`, `[IPv6]` or `[IPv6]:port`.
package struct HostAndPort: Equatable, Sendable {
    package let host: String
    package let port: UInt16?

    package init?(_ text: some StringProtocol) {
        var host = String(text)
        var portText: String?
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { return nil }
            host = String(text[text.index(after: text.startIndex)..<close])
            let after = text[text.index(after: close)...]
            guard after.isEmpty || after.hasPrefix(":") else { return nil }
            portText = after.isEmpty ? nil : String(after.dropFirst())
            guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
        } else {
            if let colon = text.firstIndex(of: ":") {
                host = String(text[..<colon])
                portText = String(text[text.index(after: colon)...])
            }
            let isName = host.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
            guard !host.isEmpty, host.utf8.count <= 255, isName else { return nil }
        }
        self.host = host
        guard let portText else {
            port = nil
            return
        }
        guard portText.utf8.count <= 5, portText.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(portText)
        else { return nil }
        self.port = port
    }
}

/// Where a provider is: always HTTP/2 over TLS, at the root of a host.
package struct ProviderURL: Equatable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// Nil unless the text is `https://host` or `https://host:port`, perhaps with one `/` after it.
    package init?(_ text: String) {
        guard let parts = URLParts(text), parts.scheme == "https", parts.userInfo == nil, parts.port != 0,
            parts.rest.isEmpty || parts.rest == "/"
        else { return nil }
        host = parts.host
        port = parts.port ?? 443
    }

    /// The `:authority` of requests: without the port where it is the usual one.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    package var description: String { "https://\(authority)" }
}
