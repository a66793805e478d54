package import HTTP2
package import Transport

/// The way of pushes to one provider with one credential: what waits, what is in flight, what is tried again.
///
/// Takes pushes from the fan-out, sends them through the pool while it has capacity, reads the answers
/// (`Route+Answers.swift`), and notes each push's outcome. Pushes of small targets go before those of big ones. What
/// has to wait for long waits in Redis. Sends only while the worker owns what it has taken. Confined to the worker's
/// loop.
package final class Route {
    /// Above this many waiting pushes the fan-out is asked to wait: of small targets, and of big ones.
    package static let maximumSmallWaiting = 8192
    package static let maximumBulkWaiting = 50_000
    /// When nothing could be sent for so long, what waits is put aside, so that it holds nothing else back.
    static let stallLimit: Duration = .seconds(3)
    /// How many pushes wait here while the provider takes none; the others wait in Redis.
    static let maximumProbes = 100
    /// How many pushes are submitted before the clock is looked at again.
    private static let pushesPerLook: UInt = 16
    /// How often a push that the provider did not process is sent again at once, before it waits like a retry.
    static let maximumResends = 3

    /// For logs: gateway, environment, credential.
    package let name: String
    let provider: any Provider
    let loop: EventLoop
    let settlement: Settlement
    let log: Log
    private let ownership: Ownership
    private let delayed: DelayedPushes
    private(set) var pool: HTTP2Pool?
    private var small = FIFO<Push>()
    private var bulk = FIFO<Push>()
    private var inFlight = Slab<Push>()
    private var retrying = 0
    private var roomWaiters: [() -> Void] = []
    private var isPumpPlanned = false
    /// The pool refused a request and has not said that it has room.
    private var isPoolFull = false
    /// The pool refused a push of a big target; there may be room for others.
    private var isBulkFull = false
    /// Nothing could be sent for long, and nothing has been since.
    private var isStalled = false
    private var submitted: UInt = 0
    /// Whether pushes might be sent when the clock was looked at last.
    private var isOwned = false
    private var sweep: LoopTimer?
    private var throttleTimer: LoopTimer?
    /// When a push was sent, or the first one began to wait.
    private var progressAt: LoopInstant
    /// Why nothing can be sent, as far as it is known.
    private var trouble: String?
    private var isHolding = false
    private var isClosed = false
    // What the provider's answers have led to.
    var health = CredentialHealth()
    var throttle = Throttle()
    /// The provider's word for why the route is throttled.
    var throttleReason = ""
    var holds = DeviceHolds()
    var reconnections = Reconnections()
    var alarms = Alarms()

    package init(
        name: String,
        provider: any Provider,
        settlement: Settlement,
        ownership: Ownership,
        delayed: DelayedPushes,
        loop: EventLoop,
        log: Log
    ) {
        self.name = name
        self.provider = provider
        self.settlement = settlement
        self.ownership = ownership
        self.delayed = delayed
        self.loop = loop
        progressAt = loop.now
        self.log = log
    }

    /// Opens the way, or opens it anew: connections that stand are used no further.
    ///
    /// Connections are made when there is something to send.
    package func open(to endpoint: Endpoint, tls: TLSClientContext, options: HTTP2Options) {
        pool?.drain()
        isPoolFull = false
        isBulkFull = false
        health = CredentialHealth()
        reconnections = Reconnections()
        pool = HTTP2Pool(endpoint: endpoint, tls: tls, options: options, on: loop, handler: self)
        provider.whenChanged = { [weak self] failure in self?.providerChanged(failure) }
        planPump()
    }

    /// Whether the fan-out may bring more pushes.
    ///
    /// The parts of big targets that all workers share are bounded where they are taken.
    package var hasRoom: Bool { small.count < Self.maximumSmallWaiting && bulk.count < Self.maximumBulkWaiting }

    /// Pushes without an outcome.
    package var unfinished: Int { small.count + bulk.count + inFlight.count + retrying + settlement.settling }

    /// Pushes that were sent, and have no answer or no outcome yet.
    package var unanswered: Int { inFlight.count + settlement.settling }

    /// Calls back once, when there is room again.
    package func whenRoom(_ action: @escaping () -> Void) {
        roomWaiters.append(action)
    }

    /// Takes pushes; those of big targets wait behind the others.
    package func enqueue(_ pushes: [Push], isBulk: Bool) {
        if small.isEmpty, bulk.isEmpty { progressAt = loop.now }
        for push in pushes {
            if isStalled, small.count + bulk.count >= Self.maximumProbes {
                if isBulk { putAside(push, into: &bulk) } else { putAside(push, into: &small) }
            } else if isBulk {
                bulk.append(push)
            } else {
                small.append(push)
            }
        }
        planPump()
    }

    /// Whether its credential can be used now, as far as is known.
    package var isUsable: Bool { provider.isReady && health.reason == nil }

    /// Sends nothing more, and hears what is unanswered.
    package func hold() { isHolding = true }

    /// Sending may be possible again.
    package func resume() { planPump() }

    /// Ends the connections; pushes without an outcome keep none.
    package func close() {
        isClosed = true
        sweep?.cancel()
        throttleTimer?.cancel()
        provider.close()
        pool?.close()
    }

    // MARK: Sending

    private func planPump() {
        guard !isPumpPlanned else { return }
        isPumpPlanned = true
        loop.atEndOfTurn { [weak self] in
            self?.isPumpPlanned = false
            self?.pump()
        }
    }

    private func pump() {
        guard let pool, !isHolding else { return }
        if small.isEmpty, bulk.isEmpty { return callRoomWaiters() }
        isOwned = ownership.maySend(now: .current)
        guard isOwned else { return planSweep() }
        guard provider.isReady else { return waitForProvider() }
        if let pause = throttle.pause(now: loop.now) { return wait(forEndOf: pause) }
        while mayTry, let push = small.popFirst() {
            if !send(push, through: pool, isBulk: false) { small.prepend(push) }
        }
        while mayTry, !isBulkFull, let push = bulk.popFirst() {
            if !send(push, through: pool, isBulk: true) { bulk.prepend(push) }
        }
        if !small.isEmpty || !bulk.isEmpty { planSweep() }
        callRoomWaiters()
    }

    private var mayTry: Bool { !isPoolFull && throttleTimer == nil && isOwned }

    /// Looks at the clock itself now and then: a process may be stopped, and go on, between two pushes of a turn.
    private func lookAtClock() {
        submitted &+= 1
        if submitted % Self.pushesPerLook == 0 { isOwned = ownership.maySend(now: .current) }
    }

    /// Sends a push, or ends it, or lets it wait elsewhere; false when it cannot be sent now.
    private func send(_ push: Push, through pool: HTTP2Pool, isBulk: Bool) -> Bool {
        if push.run.message.isAbandoned { return true }
        if settlement.isExpired(push) {
            settlement.expire(push, after: nil)
            return true
        }
        if !holds.isEmpty, let wait = holds.wait(push.token, now: loop.now),
            postpone(push, for: wait, reason: "TooManyRequests")
        {
            return true
        }
        if health.isStopped, !health.maySend(now: loop.now) {
            settlement.failUnsent(push, reason: health.reason ?? "")
            return true
        }
        if !throttle.isFree, let wait = throttle.take(now: loop.now) {
            planThrottledPump(after: wait)
            return false
        }
        let tag = inFlight.insert(push)
        if pool.submit(provider.request(for: push), tag: tag, isBulk: isBulk) {
            progressAt = loop.now
            isStalled = false
            push.run.message.begin()
            lookAtClock()
            return true
        }
        _ = inFlight.remove(tag)
        if isBulk { isBulkFull = true } else { isPoolFull = true }
        return false
    }

    func callRoomWaiters() {
        guard !roomWaiters.isEmpty, hasRoom else { return }
        let waiters = roomWaiters
        roomWaiters = []
        for waiter in waiters { waiter() }
    }

    /// While pushes wait and nothing can be sent, those whose time ran out are ended once a second.
    private func planSweep() {
        guard sweep == nil else { return }
        pool?.connectIfNeeded()
        sweep = loop.schedule(after: .seconds(1)) { [weak self] in
            guard let self else { return }
            sweep = nil
            // Should the pool have forgotten to say that it has room, this asks it again.
            isPoolFull = false
            isBulkFull = false
            holds.forget(now: loop.now)
            for push in small.removeAll(where: settlement.isExpired) + bulk.removeAll(where: settlement.isExpired) {
                settlement.expire(push, after: trouble)
            }
            pump()
            putAsideIfStalled()
            callRoomWaiters()
        }
    }

    private func waitForProvider() {
        if let failure = provider.failure { providerChanged(failure) } else { planSweep() }
    }

    private func providerChanged(_ failure: TargetEnding?) {
        guard let failure else { return planPump() }
        for push in small.removeAll(where: { _ in true }) + bulk.removeAll(where: { _ in true }) {
            settlement.end(push, failure)
        }
        callRoomWaiters()
    }
}

// MARK: Waiting

extension Route {
    /// Nothing could be sent for a while: what waits goes to Redis, where it holds nothing else back.
    private func putAsideIfStalled() {
        guard loop.now - progressAt > Self.stallLimit, ownership.maySend(now: loop.now), !isHolding else { return }
        if throttle.pause(now: loop.now) != nil { return }
        isStalled = true
        for push in small.removeAll(where: { _ in true }) { putAside(push, into: &small) }
        for push in bulk.removeAll(where: { _ in true }) { putAside(push, into: &bulk) }
    }

    private func putAside(_ push: Push, into queue: inout FIFO<Push>) {
        var waiting = push
        waiting.tries.countResend()
        guard !push.run.message.isAbandoned else { return }
        guard let delay = settlement.patience(of: waiting) else { return queue.append(push) }
        let text = trouble ?? (provider.isReady ? "the provider takes no more pushes" : "there is no access token yet")
        let setback = Setback(reason: provider.isReady ? "NoConnection" : "NoAccessToken", text: text)
        settlement.traceRetry(waiting, attempt: push.tries.attempt, setback, after: delay)
        delayed.add(waiting, after: delay)
    }

    /// The provider is to be spared: what waits goes to Redis, unless it is for a moment only.
    private func wait(forEndOf pause: Duration) {
        guard pause >= DelayedPushes.minimumDelay else {
            planThrottledPump(after: pause)
            return planSweep()
        }
        let waiting = (small.removeAll { _ in true }, bulk.removeAll { _ in true })
        for push in waiting.0 where !postpone(push, for: pause, reason: throttleReason) { small.append(push) }
        for push in waiting.1 where !postpone(push, for: pause, reason: throttleReason) { bulk.append(push) }
        if !small.isEmpty || !bulk.isEmpty { planSweep() }
        callRoomWaiters()
    }

    /// Lets a push wait that must not be sent for a while; no attempt is counted.
    ///
    /// False when it stays: only one attempt is wanted, or its time to live ends before.
    private func postpone(_ push: Push, for pause: Duration, reason: String) -> Bool {
        if push.run.message.isAbandoned { return true }
        guard let delay = settlement.postponement(of: push, for: pause) else { return false }
        settlement.traceRetry(push, attempt: push.tries.attempt, Setback(reason: reason), after: delay)
        retry(push, after: delay)
        return true
    }

    private func planThrottledPump(after wait: Duration) {
        guard throttleTimer == nil else { return }
        throttleTimer = loop.schedule(after: wait) { [weak self] in
            self?.throttleTimer = nil
            self?.planPump()
        }
    }

    /// Brings a push back after a time: from Redis if it is long.
    func retry(_ push: Push, after delay: Duration) {
        if delay >= DelayedPushes.minimumDelay { return delayed.add(push, after: delay) }
        retrying += 1
        loop.schedule(after: delay) { [weak self] in
            guard let self else { return }
            retrying -= 1
            enqueue([push], isBulk: false)
        }
    }
}

extension Route: HTTP2PoolHandler {
    package func poolHasCapacity(_ pool: HTTP2Pool) {
        guard pool === self.pool else { return }
        isPoolFull = false
        isBulkFull = false
        planPump()
    }

    package func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response) {
        guard let push = inFlight.remove(tag) else { return }
        settle(push, provider.verdict(on: response, for: push), response, from: pool)
        callRoomWaiters()
    }

    package func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure) {
        guard let push = inFlight.remove(tag), !isClosed else { return }
        switch failure {
        case .notProcessed(let text): resend(push, because: text)
        case .unanswered(let text): retryUnlessLate(push, Setback(reason: "NoAnswer", text: text))
        }
        callRoomWaiters()
    }

    package func pool(_ pool: HTTP2Pool, event: HTTP2PoolEvent) {
        switch event {
        case .connected(let streams):
            trouble = nil
            log.info("connected to the provider", ["route": name, "streams": streams])
        case .connectFailed(let reason, let pause):
            trouble = "the provider cannot be reached: \(reason)"
            log.warning("the provider cannot be reached", ["route": name, "reason": reason, "again_ms": pause])
        case .goAway(let goAway): saidGoodbye(goAway)
        case .silent: log.warning("a connection to the provider is silent", ["route": name])
        case .closed(let reason): log.info("a connection to the provider has ended", ["route": name, "reason": reason])
        }
    }
}
