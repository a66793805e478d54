import Transport

/// What is said on a new connection before it is used, and what the answers mean.
///
/// A value type without I/O: send ``commands`` in one go, then give each reply to ``receive(_:)``.
struct RedisHandshake {
    private enum Step {
        case login
        case name
        case database(Int)
        /// Whether it is the primary: a replica takes no writes, and hears of messages late.
        case role
        /// A command that a server which cannot work yet refuses.
        case ping
    }

    let commands: [RedisCommand]
    private var steps: [Step] = []
    private let server: Endpoint

    /// `server` is where the connection leads to.
    init(_ settings: RedisSettings, name: String, server: Endpoint) {
        self.server = server
        var commands: [RedisCommand] = []
        if let password = settings.password {
            var login = RedisCommand("AUTH")
            if let user = settings.user { login.append(user) }
            login.append(password)
            commands.append(login)
            steps.append(.login)
        }
        commands.append(RedisCommand("CLIENT", ["SETNAME", Self.clientName(name)]))
        steps.append(.name)
        if settings.database != 0 {
            commands.append(RedisCommand("SELECT", [settings.database]))
            steps.append(.database(settings.database))
        }
        commands.append(RedisCommand("ROLE"))
        steps.append(.role)
        commands.append(RedisCommand("PING"))
        steps.append(.ping)
        self.commands = commands
    }

    /// Whether all answers have come.
    var isDone: Bool { steps.isEmpty }

    /// Takes the next answer.
    mutating func receive(_ reply: RESPValue) throws(RedisError) {
        guard !steps.isEmpty else { throw .invalidReply("more replies than commands") }
        let step = steps.removeFirst()
        guard let error = reply.error else {
            if case .role = step { return try checkRole(reply) }
            guard case .simple = reply else { throw .invalidReply("the login was answered with something else") }
            return
        }
        // What the user may not do is found out again where it matters.
        if error.code == "NOPERM" { return }
        switch step {
        case .login:
            if case .authentication = error { throw error }
            throw error.asksForReconnection ? error : .authentication("\(error)")
        // Servers in front of Redis, and those like it, need not know all commands.
        case .name, .role:
            if case .authentication = error { throw error }
        case .database(let number):
            if case .server(let code, let message) = error, code == "ERR" {
                throw .server(code: code, message: "\(message) (the Redis URL asks for database \(number))")
            }
            throw error
        case .ping: throw error
        }
    }

    /// Takes the answer to ROLE: its kind, and of a replica its primary's host and port.
    private func checkRole(_ reply: RESPValue) throws(RedisError) {
        switch reply[0]?.text {
        case "master": return
        case "slave":
            let primary = "\(reply[1]?.text ?? "?"):\(reply[2]?.integer ?? 0)"
            throw .noPrimary("\(server) is a replica of \(primary), and only the primary will do")
        case "sentinel":
            throw .noPrimary("\(server) is a Sentinel: the Redis URL for it is redis+sentinel://\(server)/NAME")
        default: throw .invalidReply("the role was answered with something else")
        }
    }

    /// Redis allows no spaces and no control characters in a client's name.
    private static func clientName(_ name: String) -> String {
        String(decoding: name.utf8.map { $0 > 0x20 && $0 < 0x7F ? $0 : 0x5F }, as: UTF8.self)
    }
}
