/// What is said on a new connection before it is used, and what the answers mean.
///
/// A value type without I/O: send ``commands`` in one go, then give each reply to ``receive(_:)``.
struct RedisHandshake {
    private enum Step {
        case login
        case name
        case database(Int)
        /// A command that a server which cannot work yet refuses.
        case ping
    }

    let commands: [RedisCommand]
    private var steps: [Step] = []

    init(_ settings: RedisSettings, name: String) {
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
            guard case .simple = reply else { throw .invalidReply("the login was answered with something else") }
            return
        }
        // What the user may not do is found out again where it matters.
        if error.code == "NOPERM" { return }
        switch step {
        case .login:
            if case .authentication = error { throw error }
            throw error.asksForReconnection ? error : .authentication("\(error)")
        case .name:
            if case .authentication = error { throw error }
        case .database(let number):
            if case .server(let code, let message) = error, code == "ERR" {
                throw .server(code: code, message: "\(message) (the Redis URL asks for database \(number))")
            }
            throw error
        case .ping: throw error
        }
    }

    /// Redis allows no spaces and no control characters in a client's name.
    private static func clientName(_ name: String) -> String {
        String(decoding: name.utf8.map { $0 > 0x20 && $0 < 0x7F ? $0 : 0x5F }, as: UTF8.self)
    }
}
