package import Redis
import Transport

/// Tells apps of removed registrations, in a stream of its own, if the setting asks for it.
///
/// Confined to the worker's loop. An event is written after the removal; while Redis cannot take it, it is kept for a
/// while, and at most ``maximumWaiting`` are.
package final class RemovedEvents {
    private static let maximumWaiting = 10_000
    private static let retryPause: Duration = .seconds(1)
    private static let maximumTries = 60

    private let redis: RedisConnection
    private let key: [UInt8]
    /// 0: nothing is told.
    private let maximumLength: Int
    private let log: Log
    private var waiting = 0

    package init(redis: RedisConnection, keys: RedisKeys, maximumLength: Int, log: Log) {
        self.redis = redis
        key = keys.removedEvents
        self.maximumLength = maximumLength
        self.log = log
    }

    /// Tells of one.
    func add(_ push: Push, cause: Quarantine.Cause, time: Int64) {
        guard maximumLength > 0 else { return }
        let target = push.run.target
        var command = RedisCommand("XADD", [key, "MAXLEN", "~", maximumLength, "*"])
        func add(_ name: String, _ value: [UInt8]?) {
            guard let value else { return }
            command.append(name)
            command.append(value)
        }
        add("device", push.stored ?? push.token)
        add("gateway", Array(target.gateway.rawValue.utf8))
        if !target.isLegacyForm {
            add("environment", target.environment.map { Array($0.rawValue.utf8) })
            add("topic", target.topic.map { Array($0.utf8) })
        }
        add("channel", push.run.message.message.channel)
        add("reason", Array(cause.reason.utf8))
        add("status", Array("\(cause.status)".utf8))
        add("id", Array(push.run.message.message.id.utf8))
        add("time", Array("\(time)".utf8))
        send(command, triesLeft: Self.maximumTries)
    }

    private func send(_ command: RedisCommand, triesLeft: Int) {
        redis.send(command) { [self] result in
            guard case .failure(let error) = result else { return }
            guard error.isPassing, triesLeft > 0, waiting < Self.maximumWaiting else {
                return log.warning("an event of a removal was lost", ["error": "\(error)"])
            }
            waiting += 1
            redis.loop.schedule(after: Self.retryPause) { [self] in
                waiting -= 1
                send(command, triesLeft: triesLeft - 1)
            }
        }
    }
}
