import Glibc

/// Which servers are reached through a proxy, as the environment says: `https_proxy` or `HTTPS_PROXY`, and `no_proxy`
/// or `NO_PROXY`; the lower-case names win.
///
/// Loopback addresses are always reached directly.
package struct ProxyRules: Hashable, Sendable {
    /// No proxy for anything.
    package static let none = ProxyRules()

    package let proxy: HTTPProxy?
    private var exceptions: [Exception] = []

    private enum Exception: Hashable, Sendable {
        case everything
        /// A host, and all whose names end with a point and this; the port if it is for one only.
        case name(String, port: UInt16?)
        /// The first bits of an address.
        case network([UInt8], bits: Int, port: UInt16?)
    }

    private init() { proxy = nil }

    /// Throws what is wrong with the proxy's URL, in a sentence that names the variable.
    package init(_ environment: [String: String]) throws(TransportError) {
        let names = ["https_proxy", "HTTPS_PROXY"]
        guard let name = names.first(where: { environment[$0] != nil }), let text = environment[name], !text.isEmpty
        else {
            proxy = nil
            return
        }
        do {
            proxy = try HTTPProxy(text)
        } catch {
            throw .unusable("\(name): \(error)")
        }
        let list = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        exceptions = list.split { $0 == "," || $0 == " " }.compactMap { Self.exception(String($0).lowercased()) }
    }

    /// The proxy that leads to a server; nil: it is reached directly.
    package func proxy(toHost host: String, port: UInt16) -> HTTPProxy? {
        guard let proxy else { return nil }
        let name = host.lowercased()
        let address = Self.addressBytes(name)
        guard !Self.isLoopback(name, address) else { return nil }
        return exceptions.contains { Self.fits($0, name, address, port) } ? nil : proxy
    }

    private static func exception(_ text: String) -> Exception? {
        if text == "*" { return .everything }
        var text = text
        var port: UInt16?
        // A port behind a name or an IPv4 address, or behind an IPv6 address in brackets.
        if let colon = text.lastIndex(of: ":"), text.hasPrefix("[") || text.firstIndex(of: ":") == colon,
            let number = UInt16(text[text.index(after: colon)...])
        {
            port = number
            text = String(text[..<colon])
        }
        text = text.trimming("[", "]")
        let parts = text.split(separator: "/", maxSplits: 1)
        if let first = parts.first, let address = addressBytes(String(first)) {
            let all = address.count * 8
            guard let bits = parts.count == 2 ? Int(parts[1]) : all, (0...all).contains(bits) else { return nil }
            return .network(address, bits: bits, port: port)
        }
        if text.hasPrefix("*.") { text.removeFirst() }
        if text.hasPrefix(".") { text.removeFirst() }
        return text.isEmpty ? nil : .name(text, port: port)
    }

    private static func fits(_ exception: Exception, _ name: String, _ address: [UInt8]?, _ port: UInt16) -> Bool {
        switch exception {
        case .everything: return true
        case .name(let text, let only):
            return only ?? port == port && (name == text || name.hasSuffix("." + text))
        case .network(let network, let bits, let only):
            guard only ?? port == port, let address, address.count == network.count else { return false }
            return (0..<bits).allSatisfy { bit in
                (address[bit / 8] ^ network[bit / 8]) & 0x80 >> UInt8(bit % 8) == 0
            }
        }
    }

    private static func isLoopback(_ name: String, _ address: [UInt8]?) -> Bool {
        guard let address else { return name == "localhost" || name.hasSuffix(".localhost") }
        return address.count == 4 ? address[0] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address.last == 1
    }

    /// The 4 or 16 bytes of an address that is written as one.
    private static func addressBytes(_ text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            let result = unsafe bytes.withUnsafeMutableBytes { unsafe inet_pton(family, text, $0.baseAddress) }
            if result == 1 { return bytes }
        }
        return nil
    }
}

extension String {
    fileprivate func trimming(_ first: Character, _ last: Character) -> String {
        self.first == first && self.last == last ? String(dropFirst().dropLast()) : self
    }
}
