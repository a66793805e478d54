import Redis
import Worker

/// What the `devices` commands have in common: how a registry and channels are named.
enum DeviceOptions {
    static let registry = [
        Option("topic", "TOPIC", "the app's bundle ID: an APNs registration; needs --environment"),
        Option("environment", "NAME", "development or production; of the app that the token comes from"),
        Option("no-topic", nil, "an APNs registration without a topic, for messages without pn_push"),
        Option("fcm", nil, "an FCM registration"),
    ]
    static let json = Option("json", nil, "machine-readable: one JSON object a line")

    static func channels(_ summary: String) -> Option {
        Option("channels", "A,B", "\(summary); names with commas between, may be given more than once", repeats: true)
    }

    /// The registry that the options name; nil if they name none.
    static func kind(_ arguments: Arguments) throws(UsageError) -> RegistrationKind? {
        let given = ["topic", "no-topic", "fcm"].filter { arguments.has($0) }
        guard given.count <= 1 else {
            throw UsageError("--\(given[0]) and --\(given[1]) are two registries: name one")
        }
        guard arguments.has("topic") || !arguments.has("environment") else {
            throw UsageError("--environment says nothing without --topic")
        }
        if arguments.has("fcm") { return .fcm }
        if arguments.has("no-topic") { return .apnsLegacy }
        guard let topic = arguments["topic"] else { return nil }
        guard let environment = arguments["environment"] else {
            throw UsageError("--environment is missing: development (an app run from Xcode) or production")
        }
        return try refusing { () throws(RegistrationRefusal) in
            try RegistrationKind.apns(environment: environment, topic: topic)
        }
    }

    /// The channels that the options name; nil if they name none.
    static func channels(_ arguments: Arguments) throws(UsageError) -> [[UInt8]]? {
        guard arguments.has("channels") else { return nil }
        var channels: [[UInt8]] = []
        for list in arguments.all("channels") {
            for part in list.split(separator: ",", omittingEmptySubsequences: false) {
                let name = try channel(String(part.trimmingBlanks))
                if !channels.contains(name) { channels.append(name) }
            }
        }
        return channels
    }

    /// A channel's name as it is in Redis.
    static func channel(_ name: String) throws(UsageError) -> [UInt8] {
        guard !name.isEmpty else { throw UsageError("a channel has an empty name") }
        return Array(name.utf8)
    }

    /// The token of a command that may not know its registry: checked against that one, or against any.
    static func token(_ text: String, _ kind: RegistrationKind?) throws(UsageError) -> [UInt8] {
        try refusing { () throws(RegistrationRefusal) in
            guard let kind else {
                // Every APNs token could be an FCM token too.
                _ = try RegistrationKind.fcm.token(text)
                return Array(text.utf8)
            }
            return try kind.token(text)
        }
    }

    /// A refusal is wrong use of the command line.
    static func refusing<Value>(_ body: () throws(RegistrationRefusal) -> Value) throws(UsageError) -> Value {
        do {
            return try body()
        } catch {
            throw UsageError(error.description)
        }
    }
}

extension Invocation {
    /// Connects to Redis, runs the body with the registrations, and waits for its end.
    func withRegistrations<Value: Sendable>(
        _ body: @escaping @Sendable (RegistrationStore) async throws -> Value
    ) throws -> Value {
        let keys = RedisKeys(prefix: settings.prefix)
        return try withRedis("devices") { try await body(RegistrationStore(client: $0, keys: keys)) }
    }

    /// Connects to Redis, runs the body, and waits for its end.
    func withRedis<Value: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (RedisClient) async throws -> Value
    ) throws -> Value {
        let redis = settings.redis
        return try waiting {
            let client: RedisClient
            do {
                client = try await RedisClient.connect(redis, name: "pushbridge-\(name)")
            } catch {
                throw CommandError("\(error) (Redis is \(redis), from PUSHBRIDGE_REDIS_URL or --redis-url)")
            }
            defer { client.close() }
            return try await body(client)
        }
    }
}

extension Substring {
    /// Without blanks at both ends.
    fileprivate var trimmingBlanks: Substring {
        let start = drop { $0 == " " }
        let last = start.lastIndex { $0 != " " }
        return last.map { start[...$0] } ?? start[start.endIndex...]
    }
}
