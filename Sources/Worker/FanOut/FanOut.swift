package import Redis
import Transport

/// Walks the registration sets of targets and hands their pushes to the routes, page by page.
///
/// Takes a new page of a set only while the target's route has room, so that memory does not grow with the number of
/// devices. Confined to the worker's loop. Big fan-outs of one replica's message are walked by that replica alone.
package final class FanOut {
    /// Members asked for in one page of a set.
    package static let pageSize = 500
    /// Pages asked for at one time, over all targets.
    package static let maximumPagesInFlight = 64
    /// How long a walk waits after Redis has refused a page for the moment.
    static let refusalPause: Duration = .seconds(1)

    /// One set on its walk.
    private final class Walk {
        let run: TargetRun
        let route: Route?
        let key: [UInt8]
        var cursor: [UInt8] = Walk.start

        static let start: [UInt8] = [UInt8(ascii: "0")]

        init(run: TargetRun, route: Route?, key: [UInt8]) {
            self.run = run
            self.route = route
            self.key = key
        }
    }

    private let redis: RedisConnection
    private let keys: RedisKeys
    private var waiting = FIFO<Walk>()
    private var pagesInFlight = 0

    package init(redis: RedisConnection, keys: RedisKeys) {
        self.redis = redis
        self.keys = keys
    }

    /// Starts a target: walks its set and sends through the route, or only counts when there is none.
    package func start(_ run: TargetRun, through route: Route?) {
        let key = keys.registrations(channel: run.message.message.channel, kind: run.target.registrationKind)
        step(Walk(run: run, route: route, key: key))
    }

    /// Redis answers again: walks that were stopped go on.
    package func redisReady() {
        resume()
    }

    private func step(_ walk: Walk) {
        guard redis.isReady, pagesInFlight < Self.maximumPagesInFlight else {
            waiting.append(walk)
            return
        }
        if let route = walk.route, !route.hasRoom {
            route.whenRoom { [self] in step(walk) }
            return
        }
        pagesInFlight += 1
        redis.send(Self.scan(walk.key, from: walk.cursor)) { [self] result in
            pagesInFlight -= 1
            arrived(result, for: walk)
            resume()
        }
    }

    private func resume() {
        while redis.isReady, pagesInFlight < Self.maximumPagesInFlight, let walk = waiting.popFirst() {
            step(walk)
        }
    }

    private func arrived(_ result: Result<RESPValue, RedisError>, for walk: Walk) {
        switch result {
        case .success(.array(let parts)):
            guard parts.count == 2, case .bulk(let cursor) = parts[0], case .array(let values) = parts[1] else {
                return fail(walk, reason: "InvalidAnswer", text: "Redis gave an answer to SSCAN that is none")
            }
            walk.cursor = cursor
            let isLast = cursor == Walk.start
            deliver(walk.run.take(page: values.compactMap(\.bytes), isLast: isLast), of: walk)
            if !isLast { step(walk) }
        case .failure(.server(let code, let text)) where !RedisError.server(code: code, message: text).isPassing:
            fail(walk, reason: code, text: "Redis could not read the registrations: \(text)")
        case .success:
            fail(walk, reason: "InvalidAnswer", text: "Redis gave an answer to SSCAN that is none")
        case .failure(.server): pause(walk)
        case .failure:
            // A cursor is good for one life of one server: walk again from the start; tokens met are remembered.
            walk.cursor = Walk.start
            waiting.append(walk)
        }
    }

    /// Redis answers, but cannot do it now (a script runs, it loads its data): the page is asked for again.
    private func pause(_ walk: Walk) {
        walk.cursor = Walk.start
        redis.loop.schedule(after: Self.refusalPause) { [weak self] in self?.step(walk) }
    }

    private func fail(_ walk: Walk, reason: String, text: String) {
        deliver(walk.run.walkFailed(reason: reason, text: text), of: walk)
    }

    private func deliver(_ pushes: [Push], of walk: Walk) {
        guard let route = walk.route, !pushes.isEmpty else { return }
        route.enqueue(pushes, isBulk: walk.run.tally.expected > TargetRun.maximumTracedDevices)
    }

    private static func scan(_ key: [UInt8], from cursor: [UInt8]) -> RedisCommand {
        var command = RedisCommand("SSCAN")
        command.append(key)
        command.append(cursor)
        command.append("COUNT")
        command.append(pageSize)
        return command
    }
}
