import Redis
package import Transport

/// START HERE: the worker.
///
/// Builds the parts, runs them, stops them.
///
/// A message's way is `Ingest` → `MessageQueue` → `Dispatcher` with its `Plan` → `FanOut` → `Route` → `Settlement`;
/// each knows only the next. All parts are confined to one event loop, which never waits.
package final class Worker {
    /// How a worker ended.
    package enum Ending: Equatable, Sendable {
        /// It was asked to, and everything in flight had its outcome.
        case clean
        /// The deadline for that ran out first; what is left stays in the queue.
        case unfinished(messages: Int)
        /// It cannot work: a sentence that says why.
        case failed(String)
    }

    /// How long unanswered pushes, and Redis at the very end, are waited for.
    private static let answerTime: Duration = .seconds(5)

    private let counters = Counters()
    private let loop: EventLoop
    private let log: Log
    private let redis: RedisConnections
    private let queue: MessageQueue
    private let routes: Routes
    private let credentialWatch: CredentialWatch
    private let fanOut: FanOut
    private let dispatcher: Dispatcher
    private let ingest: Ingest
    private var hasSaidReady = false
    private var isStopping = false
    private var isHolding = false
    private var whenStopped: ((Ending) -> Void)?

    /// Builds the parts on their loop; nothing is connected yet.
    package init(settings: Settings, loop: EventLoop, log: Log, retryPolicy: RetryPolicy = RetryPolicy()) throws {
        self.loop = loop
        self.log = log
        let keys = RedisKeys(prefix: settings.prefix)
        let name = ConsumerName.make()
        let redis = RedisConnections(settings: settings.redis, name: name, loop: loop, log: log)
        let now = { redis.unixMilliseconds }
        let debugChannel = DebugChannel(settings.debugChannel)
        self.redis = redis
        queue = MessageQueue(redis: redis, keys: keys, consumer: name, loop: loop, log: log)
        let traces = TracePublisher(
            redis: redis.commands,
            channel: debugChannel,
            mode: settings.debug,
            now: now,
            counters: counters
        )
        let registrations = DeadRegistrations(redis: redis.commands, keys: keys)
        let surroundings = RouteSurroundings(
            loop: loop,
            log: log,
            registrations: registrations,
            counters: counters,
            ownership: queue.ownership,
            delayed: queue.delayed,
            events: RemovedEvents(
                redis: redis.commands,
                keys: keys,
                maximumLength: settings.removedEvents,
                log: log
            ),
            retryPolicy: retryPolicy,
            now: now
        )
        routes = try Routes(settings, in: surroundings)
        credentialWatch = try CredentialWatch(settings, routes: routes, loop: loop, log: log)
        fanOut = FanOut(redis: redis.commands, keys: keys, parts: queue.parts, loop: loop, log: log)
        dispatcher = Dispatcher(
            queue: queue,
            fanOut: fanOut,
            routes: routes,
            traces: traces,
            planSettings: settings.plan,
            counters: counters,
            now: now,
            loop: loop,
            log: log
        )
        ingest = Ingest(
            settings: settings,
            redis: redis.commands,
            keys: keys,
            name: name,
            traces: traces,
            counters: counters,
            now: now,
            loop: loop,
            log: log
        )
    }

    /// Connects and serves until ``stop(within:)``; `whenStopped` is called once, on the loop.
    package func start(whenStopped: @escaping (Ending) -> Void) {
        loop.preconditionOnLoop()
        self.whenStopped = whenStopped
        redis.whenCommandsReady = { [unowned self] in
            queue.commandsReady()
            ingest.commandsReady()
        }
        redis.whenServerKnown = { [unowned self] server in
            queue.connected(to: server)
            fanOut.connected(to: server.runID)
        }
        redis.whenCommandsLost = { [unowned self] in
            queue.commandsLost()
            fanOut.redisLost()
        }
        redis.whenReaderReady = { [unowned self] kind in queue.stream(kind).createGroup() }
        queue.ownership.whenRegained = { [unowned self] in for route in routes.all { route.resume() } }
        redis.whenRefused = { [unowned self] reason in end(.failed(reason)) }
        ingest.whenRefused = { [unowned self] reason in end(.failed(reason)) }
        queue.whenReading = { [unowned self] in sayReady() }
        ingest.whenListening = { [unowned self] in sayReady() }
        redis.start()
        ingest.start()
        credentialWatch.start()
    }

    /// Stops cleanly: hears and takes no more, finishes what is in flight, leaves the rest to other workers.
    ///
    /// In this order, so that nothing new comes in while the rest goes out: ingest, queue, walks, pushes,
    /// connections. Shortly before the deadline no more pushes are sent; those that are unanswered then have the rest
    /// of the time.
    package func stop(within deadline: Duration) {
        loop.preconditionOnLoop()
        isStopping = true
        ingest.stop()
        queue.stop()
        fanOut.stop()
        log.info("stopping", ["entries": dispatcher.unfinished, "pushes": routes.unfinished])
        loop.schedule(after: deadline - min(deadline / 4, Self.answerTime)) { [self] in
            for route in routes.all { route.hold() }
            isHolding = true
        }
        waitForDrain(until: loop.now + deadline)
    }

    /// Reads the credentials again, also when no file seems to have changed.
    package func readCredentialsAgain() { credentialWatch.readAgain() }

    /// Whether it can really hear messages and send pushes at the moment.
    package var readiness: Readiness {
        loop.preconditionOnLoop()
        if isStopping { return Readiness(problems: ["the worker is stopping"]) }
        let problems = [redis.problem, ingest.problem, queue.problem, routes.problem]
        return Readiness(
            problems: problems.compactMap { $0 },
            notices: [ingest.notice].compactMap { $0 } + routes.notices
        )
    }

    /// Logged once, when messages are heard and the queue is read.
    private func sayReady() {
        guard !hasSaidReady, ingest.isListening, queue.isReadable else { return }
        hasSaidReady = true
        log.info("ready: hears messages and serves the queue")
    }

    private func waitForDrain(until deadline: LoopInstant) {
        let pushes = isHolding ? routes.unanswered : routes.unfinished + fanOut.directWalks + dispatcher.preparing
        if pushes == 0, ingest.isSettled, queue.isSettled { return leave(.clean) }
        if loop.now >= deadline {
            if ingest.unwrittenCount > 0 {
                log.error("messages that Redis did not take are lost", ["messages": ingest.unwrittenCount])
            }
            return leave(.unfinished(messages: dispatcher.unfinished))
        }
        loop.schedule(after: .milliseconds(10)) { [self] in waitForDrain(until: deadline) }
    }

    /// Gives back what is left, and ends when Redis has it, or does not answer.
    private func leave(_ ending: Ending) {
        let isLate = loop.schedule(after: Self.answerTime) { [self] in end(ending) }
        queue.giveBack { [self] in
            isLate.cancel()
            end(ending)
        }
    }

    private func end(_ ending: Ending) {
        guard let whenStopped else { return }
        self.whenStopped = nil
        ingest.close()
        queue.close()
        credentialWatch.close()
        for route in routes.all { route.close() }
        redis.close()
        counters.write(to: log)
        whenStopped(ending)
    }
}
