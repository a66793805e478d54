import TestSupport
import Testing
import Transport

@testable import Redis

@Suite("Commands to a real Redis", .redisServer, .timeLimit(.minutes(1)))
struct RedisConnectionTests {
    @Test("Replies come in the order of the commands, a hundred thousand of them in one turn")
    func pipelining() async throws {
        let connection = try await RunningConnection(RedisServer.current().settings(), timings: RedisTimings())
        _ = try await connection.events.first(1)
        let counts = Recorder<Int>(on: connection.loop)
        connection.use { connection in
            for number in 0..<100_000 {
                connection.send(RedisCommand("ECHO", [number])) { result in
                    guard case .success(let value) = result, value.integer == Int64(number) else {
                        return counts.record(-1)
                    }
                    if number % 25_000 == 24_999 { counts.record(number) }
                }
            }
            counts.record(connection.inFlightCount)
        }
        #expect(try await counts.first(5) == [100_000, 24_999, 49_999, 74_999, 99_999])
    }

    @Test("A reply of 100,000 elements, and a value of a megabyte, come whole")
    func large() async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        var add = RedisCommand("RPUSH", ["large:list"])
        for number in 0..<100_000 { add.append(number) }
        try await client.call(add)
        let list = try await client.call("LRANGE", "large:list", 0, -1)
        #expect(list.elements?.count == 100_000)
        #expect(list[99_999]?.integer == 99_999)
        let value = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await client.call("SET", "large:value", value)
        #expect(try await client.call("GET", "large:value") == .bulk(value))
    }

    @Test("Error replies are failures with their first word")
    func errors() async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        try await client.call("SET", "errors:text", "x")
        let error = await #expect(throws: RedisError.self) { try await client.call("LPUSH", "errors:text", "y") }
        #expect(error?.code == "WRONGTYPE")
        await #expect(throws: RedisError.self) { try await client.call("NOSUCHCOMMAND") }
        #expect(try await client.call("PING") == .simple("PONG"))
    }

    @Test("A script runs by its name once it is known, and in full when the server has forgotten it")
    func scripts() async throws {
        let server = try RedisServer.current()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        let script = RedisScript("return redis.call('RPUSH', KEYS[1], ARGV[1])")
        let replies = connection.replies
        for round in 0..<2 {
            connection.use { connection in
                for number in 0..<3 {
                    connection.evaluate(
                        script,
                        keys: [Array("scripts:list".utf8)],
                        arguments: [Array("\(round)-\(number)".utf8)]
                    ) { replies.record($0) }
                }
            }
            let counts = try await replies.first(3 * (round + 1)).map { try $0.get().integer }
            #expect(counts == (1...Int64(3 * (round + 1))).map(Optional.some))
        }
        let client = try await server.client()
        defer { client.close() }
        try await client.call("SCRIPT", "FLUSH")
        connection.use { connection in
            connection.evaluate(script, keys: [Array("scripts:list".utf8)], arguments: [[1]]) { replies.record($0) }
        }
        #expect(try await replies.first(7).last?.get() == .integer(7))
        let statistics = try await client.call("INFO", "commandstats").text ?? ""
        #expect(statistics.contains("cmdstat_evalsha"))
    }

    @Test("A transaction gives all replies, or the error of the command that was refused")
    func transactions() async throws {
        let client = try await RedisServer.current().client()
        defer { client.close() }
        let key = "transactions:key"
        let replies = try await client.transaction([
            RedisCommand("SET", [key, "1"]), RedisCommand("INCR", [key]), RedisCommand("LPUSH", [key, "x"]),
        ])
        #expect(replies[0] == .simple("OK"))
        #expect(replies[1] == .integer(2))
        #expect(replies[2]?.error?.code == "WRONGTYPE")
        let error = await #expect(throws: RedisError.self) {
            try await client.transaction([RedisCommand("INCR", [key]), RedisCommand("INCR", [])])
        }
        #expect("\(String(describing: error))".contains("wrong number of arguments"))
        #expect(try await client.call("GET", key).integer == 2)
    }

    @Test("What is sent without a connection fails within the turn, but not within the call")
    func notConnected() async throws {
        let settings = try RedisSettings(url: "unix:///nowhere/at/all.sock")
        let connection = try await RunningConnection(settings)
        let order = Recorder<String>(on: connection.loop)
        connection.use { connection in
            connection.send(RedisCommand("PING")) { order.record("\($0)") }
            order.record("sent")
        }
        #expect(try await order.first(2) == ["sent", "\(Result<RESPValue, RedisError>.failure(.notConnected))"])
        guard case .lost(.connection) = try await connection.events.first(3)[2] else {
            Issue.record("\(connection.events.elements)")
            return
        }
    }

    @Test("A connection that is killed comes back, and what was in flight fails")
    func killed() async throws {
        let server = try RedisServer.current()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        let client = try await server.client()
        defer { client.close() }
        connection.send(RedisCommand("CLIENT", ["ID"]))
        let identifier = try await connection.replies.first(1)[0].get().integer
        connection.send(RedisCommand("BLPOP", ["killed:list", "0"]), replyDeadline: .seconds(30))
        // The blocked client must be on the server before it is killed.
        connection.loop.execute {}
        var isBlocked = false
        while !isBlocked {
            let text = try await client.call("CLIENT", "LIST", "ID", identifier ?? 0).text ?? ""
            isBlocked = text.contains("cmd=blpop")
        }
        try await client.call("CLIENT", "KILL", "ID", identifier ?? 0)
        #expect(try await connection.replies.first(2)[1] == .failure(.connectionLost))
        let events = try await connection.events.first(3)
        #expect(events[0] == .ready)
        #expect(events[2] == .ready)
        connection.send(RedisCommand("PING"))
        #expect(try await connection.replies.first(3)[2] == .success(.simple("PONG")))
    }

    @Test("Closing fails what is in flight, and nothing is told after")
    func closed() async throws {
        let connection = try await RunningConnection(RedisServer.current().settings())
        _ = try await connection.events.first(1)
        let replies = connection.replies
        connection.use { connection in
            connection.send(RedisCommand("BLPOP", ["closed:list", "0"]), replyDeadline: .seconds(30)) {
                replies.record($0)
            }
            connection.close()
            connection.send(RedisCommand("PING")) { replies.record($0) }
        }
        #expect(try await replies.first(2) == [.failure(.connectionLost), .failure(.notConnected)])
        #expect(connection.events.elements == [.ready])
    }

    @Test("A receiver may close the connection in the middle of a read")
    func closedWithin() async throws {
        let connection = try await RunningConnection(RedisServer.current().settings())
        _ = try await connection.events.first(1)
        let replies = connection.replies
        connection.use { connection in
            for number in 0..<10 {
                connection.send(RedisCommand("ECHO", [number])) { result in
                    replies.record(result)
                    if number == 4 { connection.close() }
                }
            }
        }
        let all = try await replies.first(10)
        #expect(all.prefix(5).allSatisfy { $0 != .failure(.connectionLost) })
        #expect(all.suffix(5).allSatisfy { $0 == .failure(.connectionLost) })
    }
}

@Suite("A Redis that fails", .timeLimit(.minutes(1)))
struct RedisFailureTests {
    @Test("After the server was killed and started again, commands work again")
    func restart() async throws {
        let server = try await RedisServer()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        try await server.kill()
        _ = try await connection.events.first(3)
        try await server.start()
        let count = try await connection.events.find { events in
            events.filter { $0 == .ready }.count == 2 ? events.count : nil
        }
        #expect(count >= 4)
        connection.send(RedisCommand("PING"))
        #expect(try await connection.replies.first(1) == [.success(.simple("PONG"))])
    }

    @Test("A server that holds the connection and says nothing is left")
    func frozen() async throws {
        let server = try await RedisServer()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        server.setFrozen(true)
        defer { server.setFrozen(false) }
        connection.send(RedisCommand("PING"))
        #expect(try await connection.replies.first(1) == [.failure(.connectionLost)])
        guard case .lost(.overdue) = try await connection.events.first(2)[1] else {
            Issue.record("\(connection.events.elements)")
            return
        }
        server.setFrozen(false)
        _ = try await connection.events.find { $0.last == .ready ? () : nil }
    }

    @Test("An idle connection notices by itself that the server is silent")
    func idle() async throws {
        let server = try await RedisServer()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        server.setFrozen(true)
        defer { server.setFrozen(false) }
        guard case .lost(.overdue) = try await connection.events.first(2)[1] else {
            Issue.record("\(connection.events.elements)")
            return
        }
    }

    @Test("CLIENT PAUSE longer than the deadline drops the connection; a blocking command has its own deadline")
    func pause() async throws {
        let server = try await RedisServer()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        let list = "list"
        connection.send(RedisCommand("BLPOP", [list, "1"]), replyDeadline: .seconds(20))
        // Blocks for a second: more than the deadline of other commands.
        #expect(try await connection.replies.first(1) == [.success(.null)])
        #expect(connection.events.elements == [.ready])
        connection.send(RedisCommand("CLIENT", ["PAUSE", "1500", "ALL"]))
        connection.send(RedisCommand("GET", ["x"]))
        #expect(try await connection.replies.first(3)[2] == .failure(.connectionLost))
        _ = try await connection.events.find { $0.last == .ready && $0.count > 2 ? () : nil }
    }

    @Test("A wrong password says so, whoever asks")
    func password() async throws {
        var options = RedisServer.Options()
        options.password = "right%word"
        let server = try await RedisServer(options)
        for password in [nil, "wrong"] {
            let connection = try await RunningConnection(server.settings(password: password))
            guard case .lost(.authentication(let text)) = try await connection.events.first(1)[0] else {
                Issue.record("\(connection.events.elements)")
                continue
            }
            #expect(text.hasPrefix(password == nil ? "NOAUTH" : "WRONGPASS"))
        }
        let client = try await server.client(password: "right%25word")
        #expect(try await client.call("PING") == .simple("PONG"))
        client.close()
        await #expect(throws: RedisError.notConnected) { try await client.call("PING") }
    }

    @Test("A user's rights decide: what it may not do is an error, and no reason to leave")
    func users() async throws {
        var options = RedisServer.Options()
        options.users = ["user reader on >pass ~a:* resetchannels -@all +get +ping +auth"]
        let server = try await RedisServer(options)
        let client = try await RedisClient.connect(server.settings(user: "reader", password: "pass"), name: "users")
        defer { client.close() }
        #expect(try await client.call("GET", "a:1").isNull)
        let error = await #expect(throws: RedisError.self) { try await client.call("SET", "a:1", "x") }
        #expect(error?.code == "NOPERM")
        #expect(try await client.call("PING") == .simple("PONG"))
    }

    @Test("A database that the server does not have is named")
    func database() async throws {
        let server = try await RedisServer()
        let error = await #expect(throws: RedisError.self) {
            try await RedisClient.connect(server.settings(database: 99), name: "database")
        }
        #expect("\(String(describing: error))".contains("database 99"))
        let client = try await RedisClient.connect(server.settings(database: 3), name: "database")
        defer { client.close() }
        try await client.call("SET", "k", "v")
        #expect(try await client.call("INFO", "keyspace").text?.contains("db3:keys=1") == true)
    }

    @Test("TCP and TLS: the certificate and its name are verified")
    func networks() async throws {
        let authority = try CertificateAuthority(name: "Test CA")
        var options = RedisServer.Options()
        options.usesTCP = true
        options.certificate = try authority.issue(hosts: ["127.0.0.1", "localhost"])
        let server = try await RedisServer(options)
        let port = try #require(server.port)
        let tlsPort = try #require(server.tlsPort)
        let trusted = authority.certificatePEM
        for settings in [
            try RedisSettings(url: "redis://127.0.0.1:\(port)"),
            try RedisSettings(url: "rediss://127.0.0.1:\(tlsPort)", extraCA: trusted),
            try RedisSettings(url: "rediss://localhost:\(tlsPort)", extraCA: trusted),
        ] {
            let client = try await RedisClient.connect(settings, name: "networks")
            defer { client.close() }
            let value = [UInt8](repeating: 7, count: 300_000)
            try await client.call("SET", "k", value)
            #expect(try await client.call("GET", "k") == .bulk(value))
        }
        let error = await #expect(throws: RedisError.self) {
            try await RedisClient.connect(RedisSettings(url: "rediss://127.0.0.1:\(tlsPort)"), name: "networks")
        }
        guard case .connection(.tls) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("A server out of memory refuses the command and keeps the connection")
    func outOfMemory() async throws {
        var options = RedisServer.Options()
        options.configuration = ["maxmemory 1kb", "maxmemory-policy noeviction"]
        let server = try await RedisServer(options)
        let client = try await server.client()
        defer { client.close() }
        let error = await #expect(throws: RedisError.self) { try await client.call("SET", "k", "v") }
        #expect(error?.code == "OOM")
        #expect(try await client.call("PING") == .simple("PONG"))
    }

    @Test("A server that has become a replica is left for another try")
    func readOnly() async throws {
        let server = try await RedisServer()
        let connection = try await RunningConnection(server.settings())
        _ = try await connection.events.first(1)
        connection.send(RedisCommand("REPLICAOF", ["127.0.0.1", "1"]), RedisCommand("SET", ["k", "v"]))
        guard case .failure(.server(code: "READONLY", _)) = try await connection.replies.first(2)[1] else {
            Issue.record("\(connection.replies.elements)")
            return
        }
        guard case .lost(.server(code: "READONLY", _)) = try await connection.events.first(2)[1] else {
            Issue.record("\(connection.events.elements)")
            return
        }
    }
}
