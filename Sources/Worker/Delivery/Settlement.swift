import Transport

/// Turns what happened to a push into its outcome: registrations, traces, counters, the tally of its target.
///
/// One for each route, since the brake looks at one credential's and environment's answers. Confined to the worker's
/// loop.
package final class Settlement {
    private let registrations: DeadRegistrations
    private let events: RemovedEvents
    private let counters: Counters
    private let retryPolicy: RetryPolicy
    /// Redis' time in unix milliseconds.
    private let now: () -> Int64
    private let log: Log
    private let routeName: String
    private var brake: RemovalBrake
    private var isBraking = false
    /// Removals under way: their pushes have no outcome yet.
    package private(set) var settling = 0

    package init(
        routeName: String,
        registrations: DeadRegistrations,
        events: RemovedEvents,
        counters: Counters,
        retryPolicy: RetryPolicy,
        brake: RemovalBrake,
        now: @escaping () -> Int64,
        log: Log
    ) {
        self.routeName = routeName
        self.registrations = registrations
        self.events = events
        self.counters = counters
        self.retryPolicy = retryPolicy
        self.brake = brake
        self.now = now
        self.log = log
    }

    // MARK: Time to live

    /// Whether the push's time to live has run out.
    package func isExpired(_ push: Push) -> Bool {
        now() >= push.run.target.deadline
    }

    /// Ends a push that was not sent in time; `reason` is what it waited for, if that is known.
    package func expire(_ push: Push, after reason: String?) {
        push.run.deviceTrace()?.expired(push.run.target, device: push.token, after: reason)
        finish(push, .expired)
    }

    // MARK: Answers

    /// The provider accepted the push; its name is asked for only where it is traced.
    package func sent(_ push: Push, status: Int, name: () -> AcceptedName) {
        noteGood()
        if let trace = push.run.deviceTrace(isSent: true) {
            trace.sent(push.run.target, device: push.token, status: status, name: name())
        }
        finish(push, .sent)
    }

    /// It failed for good.
    package func fail(_ push: Push, status: Int, reason: String) {
        noteGood()
        let advice = push.run.target.gateway.advice(on: reason).map { ": \($0)" } ?? ""
        end(push, status: status, reason: reason, text: "\(ShortenedToken(push.token)) failed: \(reason)\(advice)")
    }

    /// It is not sent at all, since the provider refuses the credential.
    package func failUnsent(_ push: Push, reason: String) {
        let advice = push.run.target.gateway.advice(on: reason).map { ": \($0)" } ?? ""
        let text = "\(ShortenedToken(push.token)) was not sent: the provider refuses the credential: \(reason)\(advice)"
        end(push, status: nil, reason: reason, text: text)
    }

    /// Ends a push that waited, with its route's failure.
    package func end(_ push: Push, _ ending: TargetEnding) {
        switch ending {
        case .expired: expire(push, after: nil)
        case .failed(let reason, let text): end(push, status: nil, reason: reason, text: text)
        }
    }

    /// The provider says that the device is gone: since a time in unix milliseconds, or for ever.
    package func remove(_ push: Push, status: Int, reason: String, deadSince: Int64?) {
        noteGood()
        removeRegistration(push, status: status, reason: reason, deadSince: deadSince)
    }

    /// The provider does not know the token: a dead one, or the wrong environment or topic.
    package func removeDoubtful(_ push: Push, status: Int, reason: String) {
        brake.note(doubtful: true)
        guard brake.allowsRemoval else {
            counters.keptDoubtful += 1
            noteBraking(reason)
            let advice = push.run.target.gateway.advice(on: reason).map { " (\($0))" } ?? ""
            let text = "\(reason): kept its registration; wrong environment or topic?\(advice)"
            return end(push, status: status, reason: reason, text: text)
        }
        release()
        removeRegistration(push, status: status, reason: reason, deadSince: nil)
    }

    /// Why doubtful registrations are kept at the moment; nil: they are not.
    package var brakeNotice: String? {
        guard isBraking else { return nil }
        return "devices that the provider does not know are kept: wrong environment or topic?"
    }

    private func noteGood() {
        brake.note(doubtful: false)
        if isBraking, brake.allowsRemoval { release() }
    }

    private func noteBraking(_ reason: String) {
        guard !isBraking else { return }
        isBraking = true
        log.warning(
            "registrations that the provider does not know are kept: wrong environment or topic?",
            ["route": routeName, "reason": reason]
        )
    }

    private func release() {
        guard isBraking else { return }
        isBraking = false
        log.info("doubtful registrations are removed again", ["route": routeName])
    }

    // MARK: Retries

    /// How long to wait after so many attempts of a kind; nil: there is no other one.
    package func retryDelay(of push: Push, afterAttempt count: Int, _ setback: Setback) -> Duration? {
        guard !push.run.target.isSingleAttempt else { return nil }
        return retryPolicy.delay(
            afterAttempt: count,
            gateway: push.run.target.gateway,
            status: setback.status,
            retryAfter: setback.asked,
            timeLeft: timeLeft(of: push)
        )
    }

    /// How long a push is put aside for that could not be sent; nil: it stays, since its time is nearly over.
    package func patience(of push: Push) -> Duration? {
        guard !push.run.target.isSingleAttempt else { return nil }
        let delay = retryPolicy.patience(afterStalls: Int(push.tries.resends))
        return delay < timeLeft(of: push) ? delay : nil
    }

    /// How long a push waits that must not be sent for a while; nil: it stays.
    package func postponement(of push: Push, for pause: Duration) -> Duration? {
        guard !push.run.target.isSingleAttempt else { return nil }
        return retryPolicy.postponement(for: pause, timeLeft: timeLeft(of: push))
    }

    /// How long all pushes of the route are held up that gets too much through.
    package func projectPause(asked: Duration?) -> Duration { retryPolicy.projectPause(asked: asked) }

    private func timeLeft(of push: Push) -> Duration { .milliseconds(push.run.target.deadline - now()) }

    /// `attempt` is the one that ended so.
    package func traceRetry(_ push: Push, attempt: Int, _ setback: Setback, after delay: Duration) {
        counters.retries += 1
        push.run.deviceTrace()?.retry(
            push.run.target,
            device: push.token,
            setback,
            after: delay,
            attempt: attempt
        )
    }

    /// No further attempt: the time to live would run out first, or only one was wanted.
    package func giveUp(_ push: Push, _ setback: Setback) {
        let last = setback.text ?? setback.reason
        guard !push.run.target.isSingleAttempt else {
            let text = "\(ShortenedToken(push.token)) failed, and is not tried again: \(last)"
            return end(push, status: setback.status, reason: setback.reason, text: text)
        }
        expire(push, after: last)
    }

    // MARK: Outcomes

    private func removeRegistration(_ push: Push, status: Int, reason: String, deadSince: Int64?) {
        settling += 1
        let cause = Quarantine.Cause(reason: reason, status: status)
        registrations.remove(
            member: push.stored ?? push.token,
            kind: push.run.target.registrationKind,
            channel: push.run.message.message.channel,
            deadSince: deadSince,
            cause: cause
        ) { [self] result in
            settling -= 1
            switch result {
            case .removed:
                tellRemoval(push, cause)
                push.run.deviceTrace()?.removed(push.run.target, device: push.token, status: status, reason: reason)
                finish(push, .removed)
            case .kept:
                let text = "\(reason): kept its registration, which is newer than the provider's finding"
                end(push, status: status, reason: reason, text: text)
            case .failed(let error):
                let text = "\(reason): its registration could not be removed: \(error)"
                log.warning("a dead registration could not be removed", ["route": routeName, "error": "\(error)"])
                end(push, status: status, reason: reason, text: text)
            }
        }
    }

    private func tellRemoval(_ push: Push, _ cause: Quarantine.Cause) {
        counters.countRemoval(push.run.target.gateway, reason: cause.reason)
        events.add(push, cause: cause, time: now())
        log.info(
            "a registration was removed",
            ["device": ShortenedToken(push.token), "target": push.run.target.label, "reason": cause.reason]
        )
    }

    private func end(_ push: Push, status: Int?, reason: String, text: String?) {
        push.run.deviceTrace()?.error(push.run.target, device: push.token, status: status, reason: reason, text: text)
        finish(push, .errored)
    }

    private func finish(_ push: Push, _ outcome: Outcome) {
        counters.count(outcome, push.run.target.gateway)
        push.run.finish(outcome, token: push.token)
    }
}
