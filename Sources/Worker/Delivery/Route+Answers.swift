import HTTP2
import Transport

/// What a route does with answers: for the push, its device, the credential, the connection.
extension Route {
    /// Does what an answer means; called while its connection tells it.
    func settle(_ push: Push, _ verdict: Verdict, _ response: HTTP2Response, from pool: HTTP2Pool) {
        let status = response.status
        switch verdict {
        case .sent:
            accepted()
            if !holds.isEmpty { holds.release(push.token) }
            settlement.sent(push, status: status) { self.provider.name(of: response, for: push) }
        case .removeDevice(let reason, let deadSince):
            accepted()
            settlement.remove(push, status: status, reason: reason, deadSince: deadSince)
        case .doubtful(let reason):
            accepted()
            settlement.removeDoubtful(push, status: status, reason: reason)
        case .failed(let reason, let fault):
            failed(push, status: status, reason: reason, fault: fault)
        case .reconnect(let reason, let otherwise):
            reconnect(push, status: status, reason: reason, otherwise: otherwise, pool)
        case .credential(let reason, .refreshToken):
            refreshToken(push, status: status, reason: reason, pool)
        case .credential(let reason, .stop):
            refused(push, status: status, reason: reason, pool)
        case .retry(let reason, let after, let scope):
            tryAgain(push, Setback(reason: reason, status: status, asked: after), scope, pool)
        }
    }

    // MARK: Failures

    private func failed(_ push: Push, status: Int, reason: String, fault: Verdict.Fault) {
        switch fault {
        case .push: accepted()
        case .configuration: alarm("pushes fail because of what was set up", reason, push)
        case .request: alarm("the provider does not understand the requests", reason, push)
        }
        settlement.fail(push, status: status, reason: reason)
    }

    private func alarm(_ message: StaticString, _ reason: String, _ push: Push) {
        guard alarms.isDue(reason, now: loop.now) else { return }
        let advice = provider.gateway.advice(on: reason) ?? ""
        log.error(message, ["route": name, "reason": reason, "target": push.run.target.label, "advice": advice])
    }

    // MARK: Credentials and connections

    /// An answer came that only a good credential gets.
    private func accepted() {
        guard health.reason != nil, health.accept() else { return }
        log.info("the provider takes the credential again", ["route": name])
    }

    private func refreshToken(_ push: Push, status: Int, reason: String, _ pool: HTTP2Pool) {
        guard !push.tries.isRenewed else { return refused(push, status: status, reason: reason, pool) }
        switch provider.refreshCredential() {
        case .impossible: return refused(push, status: status, reason: reason, pool)
        case .renewed:
            log.warning("the provider wants another token", ["route": name, "reason": reason])
            // Connections that know the expired one were seen to refuse the new one too.
            pool.replaceConnections()
        case .underway: break
        }
        sendRenewed(push)
    }

    private func reconnect(
        _ push: Push,
        status: Int,
        reason: String,
        otherwise: Verdict.LastResort,
        _ pool: HTTP2Pool
    ) {
        let cause = reason + " " + (push.run.target.topic ?? "")
        if !push.tries.isRenewed {
            switch reconnections.decide(cause, now: loop.now) {
            case .reconnect:
                log.warning("connects anew, since the provider asks for it", ["route": name, "reason": reason])
                pool.replaceConnections()
                return sendRenewed(push)
            case .again: return sendRenewed(push)
            case .hopeless: break
            }
        }
        switch otherwise {
        case .fail: failed(push, status: status, reason: reason, fault: .configuration)
        case .stopCredential: refused(push, status: status, reason: reason, pool)
        }
    }

    private func sendRenewed(_ push: Push) {
        var push = push
        push.tries.isRenewed = true
        enqueue([push], isBulk: false)
    }

    private func refused(_ push: Push, status: Int, reason: String, _ pool: HTTP2Pool) {
        let wasStopped = health.isStopped
        noteRefusal(health.refuse(reason, now: loop.now), reason)
        if health.isStopped, !wasStopped { pool.replaceConnections() }
        settlement.fail(push, status: status, reason: reason)
    }

    /// Logged once for a run of refusals: each push has its own trace.
    private func noteRefusal(_ isNew: Bool, _ reason: String) {
        guard isNew else { return }
        let advice = provider.gateway.advice(on: reason) ?? ""
        log.error("the provider refuses the credential", ["route": name, "reason": reason, "advice": advice])
    }

    /// A connection ends by the provider's wish.
    func saidGoodbye(_ goAway: HTTP2GoAway) {
        let words = String(decoding: goAway.debugData, as: UTF8.self)
        log.info("the provider ends a connection", ["route": name, "code": "\(goAway.errorCode)", "words": words])
        guard let reason = provider.refusal(inGoAway: goAway.debugData) else { return }
        noteRefusal(health.stop(reason, now: loop.now), reason)
    }

    // MARK: Trying again

    private func tryAgain(_ push: Push, _ setback: Setback, _ scope: Verdict.RetryScope, _ pool: HTTP2Pool) {
        switch scope {
        case .push: retryUnlessLate(push, setback)
        case .connection:
            pool.retireAnswering()
            if alarms.isDue(setback.reason, now: loop.now) {
                log.warning("the provider wants another connection", ["route": name, "reason": setback.reason])
            }
            retryUnlessLate(push, setback)
        case .device:
            accepted()
            spareDevice(push, setback)
        case .project:
            spareProject(setback)
            retryUnlessLate(push, setback)
        case .quota:
            if throttle.noteUnclear(now: loop.now) { spareProject(setback) }
            spareDevice(push, setback)
        }
    }

    private func spareDevice(_ push: Push, _ setback: Setback) {
        var waiting = push
        let count = max(waiting.tries.count(.limited), holds.strikes(push.token) + 1)
        guard let delay = wait(waiting, attempt: push.tries.attempt, afterAttempt: count, setback) else { return }
        holds.hold(push.token, for: delay, strikes: count, now: loop.now)
    }

    private func spareProject(_ setback: Setback) {
        let pause = settlement.projectPause(asked: setback.asked)
        throttle.pause(for: pause, now: loop.now)
        throttleReason = setback.reason
        guard alarms.isDue(setback.reason, now: loop.now) else { return }
        log.warning(
            "the provider gets too much; pushes wait",
            ["route": name, "reason": setback.reason, "pause_ms": pause]
        )
    }

    /// Sends a push again that the provider has not processed.
    ///
    /// No attempt is counted, so that it waits no longer for that when a later answer asks for patience.
    func resend(_ push: Push, because text: String) {
        var push = push
        let count = push.tries.countResend()
        guard count > Self.maximumResends else { return enqueue([push], isBulk: false) }
        let setback = Setback(reason: "NotProcessed", text: text)
        wait(push, attempt: push.tries.attempt, afterAttempt: count - Self.maximumResends, setback)
    }

    func retryUnlessLate(_ push: Push, _ setback: Setback) {
        var waiting = push
        let count = waiting.tries.count(Tries.Kind(status: setback.status))
        wait(waiting, attempt: push.tries.attempt, afterAttempt: count, setback)
    }

    /// Lets a push wait as the policy says after that many attempts of a kind, or ends it; answers how long it waits.
    @discardableResult
    private func wait(
        _ push: Push,
        attempt: Int,
        afterAttempt count: Int,
        _ setback: Setback
    ) -> Duration? {
        guard let delay = settlement.retryDelay(of: push, afterAttempt: count, setback) else {
            settlement.giveUp(push, setback)
            return nil
        }
        settlement.traceRetry(push, attempt: attempt, setback, after: delay)
        retry(push, after: delay)
        return delay
    }
}

/// Why a push was not accepted, and may be tried again.
package struct Setback: Sendable {
    /// The provider's word, or ours when there was no answer.
    package let reason: String
    /// A sentence, where the word does not say it all.
    package let text: String?
    /// Nil when there was no answer.
    package let status: Int?
    /// How long the provider wants to be spared.
    package let asked: Duration?

    package init(reason: String, text: String? = nil, status: Int? = nil, asked: Duration? = nil) {
        self.reason = reason
        self.text = text
        self.status = status
        self.asked = asked
    }
}
