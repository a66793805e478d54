package import Redis
package import Transport

/// Walks the registration sets of targets, page by page: small ones at once into their routes, big ones into parts for
/// all workers.
///
/// Takes a new page only while there is room for it, so that memory does not grow with the number of devices: of a
/// small target while its route has room, of a big one while few of its parts are unfinished. One big set for each
/// route is walked at a time. Confined to the worker's loop.
package final class FanOut {
    /// Members asked for in one page of a set.
    package static let pageSize = 500
    /// Pages asked for at one time, over all targets.
    package static let maximumPagesInFlight = 64
    /// Unfinished parts of one target, over all workers, above which its walk waits (``UnfinishedParts/burden``).
    package static let maximumBurden = 32
    /// Pages of one walk that Redis has not confirmed to be parts.
    static let maximumUnconfirmedPages = 4
    /// How long a walk waits after Redis has refused a page for the moment.
    static let refusalPause: Duration = .seconds(1)
    /// How often a walk that waits for its parts looks how many are unfinished.
    static let partsPause: Duration = .milliseconds(20)

    private let redis: RedisConnection
    private let keys: RedisKeys
    private let parts: MessageParts
    private let loop: EventLoop
    private let log: Log
    private var waiting = FIFO<Walk>()
    private var pagesInFlight = 0
    private var turns = WalkTurns()
    /// The run id of the server that the connection leads to; nil until it has said so.
    private var server: String?
    private var isStopped = false
    /// Walks over small sets, or sets that may still turn out to be small.
    package private(set) var directWalks = 0

    package init(redis: RedisConnection, keys: RedisKeys, parts: MessageParts, loop: EventLoop, log: Log) {
        self.redis = redis
        self.keys = keys
        self.parts = parts
        self.loop = loop
        self.log = log
    }

    /// Starts a target: walks its set and sends through the route, or only counts when there is none.
    package func start(_ run: TargetRun, through route: Route?) {
        directWalks += 1
        step(Walk(run: run, route: route, key: key(of: run)))
    }

    /// Goes on with a walk that another worker began, and whose pages become parts.
    package func resume(_ run: TargetRun, through route: Route?) {
        let walk = Walk(run: run, route: route, key: key(of: run))
        walk.phase = .mustReload
        if turns.take(for: walk) { step(walk) }
    }

    /// Redis cannot be asked.
    package func redisLost() { server = nil }

    /// Redis answers again, a server with this run id: walks that were stopped go on.
    package func connected(to runID: String) {
        server = runID
        takeWaiting()
    }

    /// Walks big sets no further; what is in parts already is served, and small sets are.
    package func stop() { isStopped = true }

    private func key(of run: TargetRun) -> [UInt8] {
        keys.registrations(channel: run.message.message.channel, kind: run.target.registrationKind)
    }

    private func takeWaiting() {
        while redis.isReady, server != nil, pagesInFlight < Self.maximumPagesInFlight, let walk = waiting.popFirst() {
            step(walk)
        }
    }

    // MARK: Pages

    private func step(_ walk: Walk) {
        if walk.run.message.isAbandoned || (isStopped && walk.phase != .direct) { return leave(walk) }
        guard redis.isReady, server != nil, pagesInFlight < Self.maximumPagesInFlight else {
            waiting.append(walk)
            return
        }
        // Nothing may be on its way: what is, came from the same connection, and was lost with it.
        if walk.server != server { leaveServer(walk) }
        switch walk.phase {
        case .mustReload: return reload(walk)
        case .direct:
            if let route = walk.route, !route.hasRoom {
                route.whenRoom { [self] in step(walk) }
                return
            }
        case .intoParts:
            guard walk.mayScan else { return }
            guard walk.unfinished.burden < Self.maximumBurden else { return waitForParts(walk) }
        }
        scan(walk)
    }

    /// Redis was started again, or is another one: it does not understand the cursor, and may know less of the walk.
    private func leaveServer(_ walk: Walk) {
        if walk.server != nil {
            if walk.phase == .direct { walk.cursor = Walk.start } else { walk.phase = .mustReload }
        }
        walk.server = server
    }

    private func scan(_ walk: Walk) {
        pagesInFlight += 1
        walk.isScanning = true
        redis.send(Self.scan(walk.key, from: walk.cursor)) { [self] result in
            pagesInFlight -= 1
            walk.isScanning = false
            arrived(result, for: walk)
            takeWaiting()
        }
    }

    private func arrived(_ result: Result<RESPValue, RedisError>, for walk: Walk) {
        if walk.run.message.isAbandoned { return leave(walk) }
        switch result {
        case .success(let value):
            guard let cursor = value[0]?.text, let members = value[1]?.elements else {
                return fail(walk, reason: "InvalidAnswer", text: "Redis gave an answer to SSCAN that is none")
            }
            walk.cursor = cursor
            take(members.compactMap(\.bytes), isLast: cursor == Walk.start, for: walk)
        case .failure(let error) where error.isPassing: pause(walk, after: error)
        case .failure(let error):
            fail(walk, reason: error.code ?? "Redis", text: "Redis could not read the registrations: \(error)")
        }
    }

    private func take(_ page: [[UInt8]], isLast: Bool, for walk: Walk) {
        switch walk.phase {
        case .direct:
            let pushes = walk.run.take(page: page, isLast: isLast)
            if isLast { return deliver(pushes, of: walk) }
            if isStopped, walk.run.isLarge { return leave(walk) }
            guard walk.route != nil, walk.run.isLarge else { return step(walk) }
            cut(walk)
        case .intoParts:
            walk.run.collect(page)
            walk.isScanned = isLast
            // A target that ends without makes no parts: its last devices are counted in one go.
            if walk.run.ending != nil, !isLast { step(walk) } else { addPage(of: walk) }
        case .mustReload: step(walk)
        }
    }

    /// A page was not given: it is asked for again, when Redis can.
    private func pause(_ walk: Walk, after error: RedisError) {
        if walk.phase == .direct {
            // A cursor is good for one life of one server: walk again from the start; tokens met are remembered.
            walk.cursor = Walk.start
        } else {
            walk.phase = .mustReload
        }
        guard case .server = error else {
            waiting.append(walk)
            return
        }
        loop.schedule(after: Self.refusalPause) { [self] in step(walk) }
    }

    private func fail(_ walk: Walk, reason: String, text: String) {
        guard walk.phase == .direct else {
            walk.run.message.trace?.error(walk.run.target, reason: reason, text: text)
            walk.isScanned = true
            return addPage(of: walk)
        }
        deliver(walk.run.walkFailed(reason: reason, text: text), of: walk)
    }

    private func deliver(_ pushes: [Push], of walk: Walk) {
        directWalks -= 1
        guard let route = walk.route, !pushes.isEmpty else { return }
        route.enqueue(pushes, isBulk: walk.run.tally.expected > TargetRun.maximumTracedDevices)
    }

    private static func scan(_ key: [UInt8], from cursor: String) -> RedisCommand {
        var command = RedisCommand("SSCAN")
        command.append(key)
        command.append(cursor)
        command.append("COUNT")
        command.append(pageSize)
        return command
    }
}

// MARK: Parts

extension FanOut {
    /// The target is large: what was found becomes the first part, unless another big set is walked for its route.
    private func cut(_ walk: Walk) {
        walk.phase = .intoParts
        directWalks -= 1
        if turns.take(for: walk) { return addPage(of: walk) }
        // It begins anew when its turn comes, so that it holds no devices meanwhile.
        walk.cursor = Walk.start
        walk.run.restart()
    }

    private func addPage(of walk: Walk) {
        let state: RunState.Walk = walk.isScanned ? .done : .at(cursor: walk.cursor, server: server ?? "unknown")
        walk.unconfirmedPages += 1
        parts.add(walk.run.takePage(from: walk.added, to: state)) { [self] answer in
            walk.unconfirmedPages -= 1
            added(answer, to: walk)
        }
        walk.added = state
        step(walk)
    }

    private func added(_ answer: MessageParts.Answer<UnfinishedParts>, to walk: Walk) {
        switch answer {
        case .lost: leave(walk)
        case .unknown(let error): addAgain(walk, because: "\(error)")
        case .moved: addAgain(walk, because: "Redis does not know of a page before it")
        case .done(let unfinished):
            walk.unfinished = unfinished
            if walk.phase == .mustReload { return walk.isQuiet ? step(walk) : () }
            if walk.isScanned, walk.isQuiet { return end(walk) }
            step(walk)
        }
    }

    /// Whether a page is a part is known to Redis only: the walk goes on from where Redis has it.
    private func addAgain(_ walk: Walk, because reason: String) {
        walk.phase = .mustReload
        guard walk.isQuiet else { return }
        loop.schedule(after: Self.refusalPause) { [self] in step(walk) }
        log.debug("a page of a walk is added again", ["reason": reason])
    }

    private func waitForParts(_ walk: Walk) {
        guard !walk.isWaitingForParts else { return }
        walk.isWaitingForParts = true
        loop.schedule(after: Self.partsPause) { [self] in
            parts.unfinished(of: walk.run.message.message.entryID, target: walk.run.number) { [self] unfinished in
                walk.isWaitingForParts = false
                if let unfinished { walk.unfinished = unfinished }
                step(walk)
            }
        }
    }

    /// Reads from Redis where a walk is, and goes on from there.
    private func reload(_ walk: Walk) {
        guard walk.isQuiet else { return }
        walk.isScanning = true
        let message = walk.run.message
        parts.load(message.entryID, of: .messages, messageID: message.entryID) { [self] result in
            guard case .success(let (_, state)) = result else { return reloadFailed(walk) }
            let target = state.targets[walk.run.number] ?? RunState.TargetState()
            parts.met(of: message.entryID, target: walk.run.number) { [self] result in
                guard case .success(let met) = result else { return reloadFailed(walk) }
                walk.isScanning = false
                reloaded(walk, target, met: met)
            }
        }
    }

    private func reloadFailed(_ walk: Walk) {
        walk.isScanning = false
        waiting.append(walk)
        loop.schedule(after: Self.refusalPause) { [self] in takeWaiting() }
    }

    private func reloaded(_ walk: Walk, _ state: RunState.TargetState, met: [UInt8]) {
        walk.phase = .intoParts
        walk.unfinished = state.unfinished
        walk.added = state.walk
        walk.isScanned = state.walk == .done
        walk.run.restart(state.tally, met: met)
        switch state.walk {
        case .done: return end(walk)
        case .none: walk.cursor = Walk.start
        case .at(let cursor, let server): walk.cursor = server == self.server ? cursor : Walk.start
        }
        step(walk)
    }

    private func end(_ walk: Walk) {
        leave(walk)
        walk.run.walkBecameParts()
    }

    /// The walk is over here: the next one has its turn.
    private func leave(_ walk: Walk) {
        if walk.phase == .direct { directWalks -= 1 }
        if let next = turns.leave(walk) { step(next) }
    }
}
