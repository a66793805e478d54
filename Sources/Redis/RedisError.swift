package import Transport

/// What goes wrong between this process and Redis; each case describes itself in a sentence for people.
package enum RedisError: Error, Equatable, Sendable {
    /// The Redis URL cannot be used.
    case settings(String)
    /// No connection came about, or it was lost.
    case connection(TransportError)
    /// Redis refuses the user or the password: trying again is of no use before the settings are mended.
    case authentication(String)
    /// There is no primary at the moment: the server is a replica, or no sentinel names one.
    case noPrimary(String)
    /// An error reply: its first word, and the whole text.
    case server(code: String, message: String)
    /// The bytes that came are not Redis protocol, or a reply is not of the kind that the command has.
    case invalidReply(String)
    /// A reply did not come in time.
    case overdue(String)
    /// The command was not sent, since there is no connection at the moment, or too much waits to be sent.
    case notConnected
    /// The connection was lost, or closed, between command and reply: it may have been carried out or not.
    case connectionLost
}

extension RedisError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .settings(let text): text
        case .connection(let error): "Redis: \(error)"
        case .authentication(let text):
            "Redis refuses the user or the password: \(text); check both in the Redis URL"
        case .noPrimary(let text): "Redis: \(text)"
        case .server(_, let message): "Redis answered: \(message)"
        case .invalidReply(let text): "Redis sent something that cannot be understood: \(text)"
        case .overdue(let text): "Redis: \(text)"
        case .notConnected: "there is no connection to Redis at the moment"
        case .connectionLost: "the connection to Redis was lost before the reply came"
        }
    }
}

extension RedisError {
    /// The error for the text of an error reply (`-CODE what happened`).
    package static func reply(_ text: String) -> RedisError {
        let code = text.split(separator: " ", maxSplits: 1).first.map(String.init) ?? ""
        switch code {
        case "WRONGPASS", "NOAUTH": return .authentication(text.last == "." ? String(text.dropLast()) : text)
        // "ERR AUTH <password> called without any password configured for the default user …"
        case "ERR" where text.hasPrefix("ERR AUTH"), "ERR" where text.hasPrefix("ERR invalid password"):
            return .authentication(text)
        default: return .server(code: code, message: text)
        }
    }

    /// The first word of the error reply, if it is one.
    package var code: String? {
        guard case .server(let code, _) = self else { return nil }
        return code
    }

    /// Whether the same command may succeed a little later, with nothing mended: there is no connection, or the server
    /// runs a script, loads its data, or takes no writes at the moment.
    package var isPassing: Bool {
        switch self {
        case .connection, .noPrimary, .overdue, .notConnected, .connectionLost: true
        case .server(let code, _):
            ["BUSY", "LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS", "MISCONF", "OOM"]
                .contains(code)
        case .settings, .authentication, .invalidReply: false
        }
    }

    /// Whether the server cannot do its work at the moment, so that a new connection may lead to one that can:
    /// it loads its data, or it has become a replica.
    var asksForReconnection: Bool {
        switch code {
        case "LOADING", "READONLY", "MASTERDOWN": true
        default: false
        }
    }
}
