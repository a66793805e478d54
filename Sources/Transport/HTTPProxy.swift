/// An HTTP proxy that makes tunnels (CONNECT, RFC 9110 section 9.3.6), as an environment variable names it.
///
/// Describes itself without its password.
package struct HTTPProxy: Hashable, Sendable {
    package let endpoint: Endpoint
    /// As given, with `http://`: for libcurl.
    package let url: String
    /// The value of `proxy-authorization`, without which the proxy is asked first.
    private let authorization: String?

    /// Reads `http://user:password@host:port`; scheme, user and port may be left out.
    package init(_ text: String) throws(TransportError) {
        let (scheme, rest) = Self.split(text, at: "://") ?? ("http", text)
        guard scheme.lowercased() == "http" else {
            throw .unusable(
                "the proxy must begin with http:// (it is asked with CONNECT, and what goes through it is encrypted);"
                    + " this one begins with \(scheme.prefix(16))://"
            )
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let address: Substring
        if let at = authority.lastIndex(of: "@") {
            let user = String(authority[..<at])
            address = authority[authority.index(after: at)...]
            guard let plain = Self.decoded(user) else { throw .unusable("the proxy's user or password is misspelt") }
            // A user without a password has an empty one (RFC 7617 section 2).
            authorization = "Basic " + Self.base64(plain.contains(UInt8(ascii: ":")) ? plain : plain + [0x3A])
        } else {
            address = authority
            authorization = nil
        }
        guard let endpoint = Self.endpoint(address) else {
            throw .unusable("the proxy must be http://host:port, or http://user:password@host:port")
        }
        self.endpoint = endpoint
        url = "http://\(authority)"
    }

    /// What is sent to the proxy.
    func connectRequest(to target: Endpoint) -> [UInt8] {
        var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
        if let authorization { text += "Proxy-Authorization: \(authorization)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// The end of an answer's head; what came before `start` is known to have none.
    static func endOfHead(in bytes: [UInt8], from start: Int) -> Int? {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        var place = max(0, start - 3)
        while place + 4 <= bytes.count {
            if bytes[place..<place + 4].elementsEqual(end) { return place + 4 }
            place += 1
        }
        return nil
    }

    /// Why there is no tunnel, by the proxy's answer; nil: there is one.
    static func problem(ofAnswer head: [UInt8]) -> String? {
        let line = head.prefix { $0 != 0x0D && $0 != 0x0A }
        // Shown in logs: no control characters, and not too much.
        let text = String(decoding: line.prefix(100).map { (0x20..<0x7F).contains($0) ? $0 : 0x3F }, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            return "it does not speak HTTP: \"\(text)\""
        }
        if (200...299).contains(status) { return nil }
        return status == 407 ? "it wants another user and password: \"\(text)\"" : "it answered \"\(text)\""
    }

    private static func endpoint(_ text: Substring) -> Endpoint? {
        var host = text
        var port: UInt16? = 80
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            if rest.hasPrefix(":") { port = UInt16(rest.dropFirst()) } else if !rest.isEmpty { return nil }
        } else if let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            port = UInt16(text[text.index(after: colon)...])
        }
        guard let port, port > 0, !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        return .tcp(host: String(host), port: port)
    }

    private static func split(_ text: String, at separator: String) -> (String, String)? {
        let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }

    /// Percent-decoded (RFC 3986 section 2.1).
    private static func decoded(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// RFC 4648 section 4.
    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension HTTPProxy: CustomStringConvertible {
    package var description: String { "the proxy \(endpoint)" }
}
