import Transport

/// The parts of a Redis URL (RFC 3986 §3); its errors never quote the URL, which may hold a password.
struct RedisURL: Equatable {
    private(set) var endpoint = Endpoint.unix(path: "")
    private(set) var usesTLS = false
    private(set) var user: String?
    private(set) var password: String?
    private(set) var database = 0
    private(set) var sentinels: RedisSettings.Sentinels?

    init(_ url: String) throws(RedisError) {
        let (beforeColon, afterColon) = url.split(atFirst: ":")
        guard let afterColon, afterColon.hasPrefix("//") else {
            throw .settings(
                "the Redis URL has no scheme: it must begin with redis://, rediss://, redis+sentinel:// or unix://"
            )
        }
        let scheme = beforeColon.lowercased()
        let rest = afterColon.dropFirst(2)
        switch scheme {
        case "redis", "rediss":
            usesTLS = scheme == "rediss"
            try readHost(rest)
        case "unix", "redis+unix", "redis+socket":
            try readSocket(rest)
        case "redis+sentinel", "rediss+sentinel":
            usesTLS = scheme == "rediss+sentinel"
            try readSentinels(rest)
        default:
            throw .settings(
                "the Redis URL has the scheme \(scheme.prefix(32)): it may be redis, rediss,"
                    + " redis+sentinel, rediss+sentinel or unix"
            )
        }
    }

    private mutating func readHost(_ rest: Substring) throws(RedisError) {
        let (beforeQuery, query) = rest.split(atFirst: "?")
        let (authority, path) = beforeQuery.split(atFirst: "/")
        let address = try readLogin(authority)
        endpoint = try Self.endpoint(address)
        if let path, !path.isEmpty { try readDatabase(path) }
        try readQuery(query)
    }

    private mutating func readSentinels(_ rest: Substring) throws(RedisError) {
        let (beforeQuery, query) = rest.split(atFirst: "?")
        let (authority, path) = beforeQuery.split(atFirst: "/")
        var endpoints: [Endpoint] = []
        for address in try readLogin(authority).split(separator: ",", omittingEmptySubsequences: false) {
            guard !address.isEmpty else { throw .settings("the Redis URL has an empty place among its sentinels") }
            endpoints.append(try Self.endpoint(address, standardPort: 26379))
        }
        let (name, database) = (path ?? "").split(atFirst: "/")
        let decodedName = try decode(name, "the name of the primary")
        guard !decodedName.isEmpty, let first = endpoints.first else {
            throw .settings(
                "the Redis URL does not say what the sentinels call the primary: write redis+sentinel://host,host/name"
            )
        }
        endpoint = first
        sentinels = RedisSettings.Sentinels(endpoints: endpoints, name: decodedName)
        if let database, !database.isEmpty { try readDatabase(database) }
        try readQuery(query)
    }

    private mutating func readSocket(_ rest: Substring) throws(RedisError) {
        let (beforeQuery, query) = rest.split(atFirst: "?")
        // Only what stands before the first slash can be a login: a path may contain an at sign.
        let start = beforeQuery.firstIndex(of: "/") ?? beforeQuery.endIndex
        let nothing = try readLogin(beforeQuery[..<start])
        let path = try decode(beforeQuery[start...], "the path of the socket")
        guard nothing.isEmpty, path.utf8.count > 1 else {
            throw .settings("the Redis URL needs the whole path of the socket: unix:///run/redis.sock")
        }
        // sun_path has 108 bytes with the final NUL (unix(7)).
        guard path.utf8.count < 108, !path.utf8.contains(0) else {
            throw .settings("the path of the Redis socket is longer than the 107 bytes that the system allows")
        }
        endpoint = .unix(path: path)
        try readQuery(query)
    }

    /// Takes `user:password@` off the front.
    private mutating func readLogin(_ authority: Substring) throws(RedisError) -> Substring {
        // A password that was not escaped may itself contain an at sign: the last one separates.
        guard let at = authority.lastIndex(of: "@") else { return authority }
        let (name, secret) = authority[..<at].split(atFirst: ":")
        let decodedName = try decode(name, "the user")
        user = decodedName.isEmpty ? nil : decodedName
        if let secret, !secret.isEmpty { password = try decode(secret, "the password") }
        if user != nil, password == nil {
            throw .settings(
                "the Redis URL has a user without a password: write redis://user:password@host,"
                    + " or redis://:password@host for a password alone"
            )
        }
        return authority[authority.index(after: at)...]
    }

    private static func endpoint(_ address: Substring, standardPort: UInt16 = 6379) throws(RedisError) -> Endpoint {
        var host = address
        var port: Substring?
        if address.first == "[" {
            guard let end = address.firstIndex(of: "]") else {
                throw .settings("the Redis URL has an IPv6 address without its closing bracket")
            }
            host = address[address.index(after: address.startIndex)..<end]
            let after = address[address.index(after: end)...]
            guard after.isEmpty || after.first == ":" else {
                throw .settings("the Redis URL has something other than a port after the IPv6 address")
            }
            port = after.isEmpty ? nil : after.dropFirst()
        } else {
            (host, port) = address.split(atFirst: ":")
        }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x25 && $0 != 0x2C }) else {
            throw .settings("the Redis URL has a host name with characters that no host name has")
        }
        let name = host.isEmpty ? "127.0.0.1" : String(host)
        guard let port, !port.isEmpty else { return .tcp(host: name, port: standardPort) }
        guard port.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = UInt16(port), number > 0 else {
            throw .settings(
                "the Redis URL has no usable port: it must be a number from 1 to 65535."
                    + " A password with / ? # or @ in it needs % escapes"
            )
        }
        return .tcp(host: name, port: number)
    }

    private mutating func readQuery(_ query: Substring?) throws(RedisError) {
        guard let query, !query.isEmpty else { return }
        for part in query.split(separator: "&") {
            let (name, value) = part.split(atFirst: "=")
            guard name == "db" || name == "database" else {
                throw .settings("the Redis URL has a parameter that is not known: only db=NUMBER is")
            }
            try readDatabase(value ?? "")
        }
    }

    private mutating func readDatabase(_ text: Substring) throws(RedisError) {
        guard text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = Int32(text) else {
            throw .settings("the Redis URL has a database that is not a number, as in redis://host/0")
        }
        database = Int(number)
    }

    /// Replaces `%` escapes (RFC 3986 §2.1).
    private func decode(_ text: Substring, _ what: String) throws(RedisError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit) else {
                throw .settings("\(what) in the Redis URL has a % without two hex digits: write a % itself as %25")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw .settings("\(what) in the Redis URL is not UTF-8")
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}

extension StringProtocol where SubSequence == Substring {
    /// What stands before and after the first such character; nil after if there is none.
    fileprivate func split(atFirst character: Character) -> (Substring, Substring?) {
        guard let index = firstIndex(of: character) else { return (self[...], nil) }
        return (self[..<index], self[self.index(after: index)...])
    }
}
