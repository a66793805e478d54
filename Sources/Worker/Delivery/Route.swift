package import HTTP2
package import Transport

/// The way of pushes to one provider with one credential: what waits, what is in flight, what is tried again.
///
/// Takes pushes from the fan-out, sends them through the pool while it has capacity, reads the answers, and notes each
/// push's outcome. Pushes of small targets go before those of big ones. What has to wait for long waits in Redis. Sends
/// only while the worker owns what it has taken. Confined to the worker's loop.
package final class Route {
    /// Above this many waiting pushes the fan-out is asked to wait: of small targets, and of big ones.
    package static let maximumSmallWaiting = 8192
    package static let maximumBulkWaiting = 50_000
    /// When nothing could be sent for so long, what waits is put aside, so that it holds nothing else back.
    static let stallLimit: Duration = .seconds(3)
    /// How often a push that the provider did not process is sent again at once, before it waits like a retry.
    static let maximumResends = 3

    /// For logs: gateway, environment, credential.
    package let name: String
    private let provider: any Provider
    private let loop: EventLoop
    private let settlement: Settlement
    private let ownership: Ownership
    private let delayed: DelayedPushes
    private let log: Log
    private var pool: HTTP2Pool?
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
    private var sweep: LoopTimer?
    private var loggedRefusal: String?
    /// When a push was sent, or the first one began to wait.
    private var progressAt: LoopInstant
    /// Why nothing can be sent, as far as it is known.
    private var trouble: String?
    private var isHolding = false
    private var isClosed = false

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

    /// Opens the way.
    ///
    /// Connections are made when there is something to send.
    package func open(to endpoint: Endpoint, tls: TLSClientContext, options: HTTP2Options) {
        pool = HTTP2Pool(endpoint: endpoint, tls: tls, options: options, on: loop, handler: self)
        provider.whenChanged = { [weak self] failure in self?.providerChanged(failure) }
    }

    /// Whether the fan-out may bring more pushes.
    ///
    /// The parts of big targets that all workers share are bounded where they are taken.
    package var hasRoom: Bool { small.count < Self.maximumSmallWaiting && bulk.count < Self.maximumBulkWaiting }

    /// Pushes without an outcome.
    package var unfinished: Int { small.count + bulk.count + inFlight.count + retrying }

    /// Pushes that were sent and have no answer yet.
    package var unanswered: Int { inFlight.count }

    /// Calls back once, when there is room again.
    package func whenRoom(_ action: @escaping () -> Void) {
        roomWaiters.append(action)
    }

    /// Takes pushes; those of big targets wait behind the others.
    package func enqueue(_ pushes: [Push], isBulk: Bool) {
        if small.isEmpty, bulk.isEmpty { progressAt = loop.now }
        for push in pushes {
            if isBulk { bulk.append(push) } else { small.append(push) }
        }
        planPump()
    }

    /// Whether its credential can be used now, as far as is known.
    package var isUsable: Bool { provider.isReady && loggedRefusal == nil }

    /// Sends nothing more, and hears what is unanswered.
    package func hold() { isHolding = true }

    /// Sending may be possible again.
    package func resume() { planPump() }

    /// Ends the connections; pushes without an outcome keep none.
    package func close() {
        isClosed = true
        sweep?.cancel()
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
        guard ownership.maySend(now: loop.now) else { return planSweep() }
        guard provider.isReady else { return waitForProvider() }
        while !isPoolFull, let push = small.popFirst() {
            if !send(push, through: pool, isBulk: false) { small.prepend(push) }
        }
        while !isPoolFull, !isBulkFull, let push = bulk.popFirst() {
            if !send(push, through: pool, isBulk: true) { bulk.prepend(push) }
        }
        if !small.isEmpty || !bulk.isEmpty { planSweep() }
        callRoomWaiters()
    }

    /// Sends a push, or ends it when its time is over; false when the pool is full.
    private func send(_ push: Push, through pool: HTTP2Pool, isBulk: Bool) -> Bool {
        if push.run.message.isAbandoned { return true }
        if settlement.isExpired(push) {
            settlement.expire(push)
            return true
        }
        let tag = inFlight.insert(push)
        if pool.submit(provider.request(for: push), tag: tag, isBulk: isBulk) {
            progressAt = loop.now
            return true
        }
        _ = inFlight.remove(tag)
        if isBulk { isBulkFull = true } else { isPoolFull = true }
        return false
    }

    private func callRoomWaiters() {
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
            for push in small.removeAll(where: settlement.isExpired) + bulk.removeAll(where: settlement.isExpired) {
                settlement.expire(push)
            }
            pump()
            putAsideIfStalled()
            callRoomWaiters()
        }
    }

    /// Nothing could be sent for a while: what waits goes to Redis, where it holds nothing else back.
    private func putAsideIfStalled() {
        guard loop.now - progressAt > Self.stallLimit, ownership.maySend(now: loop.now), !isHolding else { return }
        let reason =
            trouble ?? (provider.isReady ? "the provider takes no more pushes" : "there is no access token yet")
        for push in small.removeAll(where: { _ in true }) { putAside(push, reason: reason, into: &small) }
        for push in bulk.removeAll(where: { _ in true }) { putAside(push, reason: reason, into: &bulk) }
    }

    private func putAside(_ push: Push, reason: String, into queue: inout FIFO<Push>) {
        var waiting = push
        waiting.resends += 1
        guard !push.run.message.isAbandoned else { return }
        guard let delay = settlement.patience(of: waiting) else { return queue.append(push) }
        settlement.traceRetry(waiting, status: nil, reason: reason, after: delay)
        delayed.add(waiting, after: delay)
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

    // MARK: Trying again

    private func retry(_ push: Push, after delay: Duration) {
        if delay >= DelayedPushes.minimumDelay { return delayed.add(push, after: delay) }
        retrying += 1
        loop.schedule(after: delay) { [weak self] in
            guard let self else { return }
            retrying -= 1
            enqueue([push], isBulk: false)
        }
    }

    /// Sends a push again that the provider has not processed.
    ///
    /// No attempt is counted, so that it waits no longer for that when a later answer asks for patience.
    private func resend(_ push: Push, reason: String) {
        var push = push
        push.resends += 1
        guard push.resends > Self.maximumResends else { return enqueue([push], isBulk: false) }
        wait(push, afterAttempt: push.resends - Self.maximumResends, next: push.attempt, reason: reason)
    }

    private func retryUnlessLate(_ push: Push, reason: String, status: Int?, asked: Duration?) {
        let next = push.attempt + 1
        wait(push, afterAttempt: push.attempt, next: next, reason: reason, status: status, asked: asked)
    }

    /// Lets a push wait as the policy says after that many attempts, or ends it; `next` is the next attempt's number.
    private func wait(
        _ push: Push,
        afterAttempt count: Int,
        next: Int,
        reason: String,
        status: Int? = nil,
        asked: Duration? = nil
    ) {
        guard let delay = settlement.retryDelay(of: push, afterAttempt: count, status: status, asked: asked) else {
            return settlement.giveUp(push, status: status, reason: reason)
        }
        settlement.traceRetry(push, status: status, reason: reason, after: delay)
        var push = push
        push.attempt = next
        retry(push, after: delay)
    }

    // MARK: Answers

    private func settle(_ push: Push, _ verdict: Verdict, _ response: HTTP2Response) {
        switch verdict {
        case .sent:
            if loggedRefusal != nil { loggedRefusal = nil }
            settlement.sent(push, status: response.status) { self.provider.name(of: response, for: push) }
        case .removeDevice(let reason, let deadSince):
            settlement.remove(push, status: response.status, reason: reason, deadSince: deadSince)
        case .doubtful(let reason):
            settlement.removeDoubtful(push, status: response.status, reason: reason)
        case .failed(let reason):
            settlement.fail(push, status: response.status, reason: reason)
        case .credential(let reason, let action):
            credentialRefused(push, reason: reason, action: action, status: response.status)
        case .retry(let reason, let after, _):
            retryUnlessLate(push, reason: reason, status: response.status, asked: after)
        }
    }

    private func credentialRefused(_ push: Push, reason: String, action: Verdict.CredentialAction, status: Int) {
        guard action == .refreshToken, !push.isRefreshed, provider.refreshCredential(reason: reason) else {
            logRefusal(reason)
            return settlement.fail(push, status: status, reason: reason)
        }
        var push = push
        push.isRefreshed = true
        enqueue([push], isBulk: false)
    }
}

extension Route {
    /// Logged once for a run of refusals: each push has its own trace.
    private func logRefusal(_ reason: String) {
        guard loggedRefusal != reason else { return }
        loggedRefusal = reason
        log.error("the provider refuses the credential", ["route": name, "reason": reason])
    }
}

extension Route: HTTP2PoolHandler {
    package func poolHasCapacity(_ pool: HTTP2Pool) {
        isPoolFull = false
        isBulkFull = false
        planPump()
    }

    package func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response) {
        guard let push = inFlight.remove(tag) else { return }
        settle(push, provider.verdict(on: response, for: push), response)
        callRoomWaiters()
    }

    package func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure) {
        guard let push = inFlight.remove(tag), !isClosed else { return }
        switch failure {
        case .notProcessed(let reason): resend(push, reason: reason)
        case .unanswered(let reason): retryUnlessLate(push, reason: reason, status: nil, asked: nil)
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
        case .goAway(let goAway):
            let words = String(decoding: goAway.debugData, as: UTF8.self)
            log.info("the provider ends a connection", ["route": name, "code": "\(goAway.errorCode)", "words": words])
        case .silent: log.warning("a connection to the provider is silent", ["route": name])
        case .closed(let reason): log.info("a connection to the provider has ended", ["route": name, "reason": reason])
        }
    }
}
