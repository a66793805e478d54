package import HTTP2
package import Transport

/// Sends one push to one device, past Redis, and tells what the provider answers.
///
/// With the worker's credentials, requests and connections, but without retries: what is shown is the first answer.
/// Confined to its loop; used once.
package final class SingleSend {
    /// How it ended.
    package enum Ending: Sendable {
        case answered(Answer)
        /// Nobody was asked, or nobody answered: a word like the provider's, and a sentence.
        case unanswered(reason: String, text: String)
    }

    /// What the provider answered.
    package struct Answer: Sendable {
        package let status: Int
        /// Its word; nil when the push was accepted.
        package let reason: String?
        package let verdict: Verdict
        /// What the push is called: our `apns-id`, or the name that FCM gave it.
        package let name: String?
        /// From the sandbox, for Apple's console.
        package let uniqueID: String?
        /// Which credential was used.
        package let credential: String
    }

    /// For the whole of it.
    private static let deadline: Duration = .seconds(40)

    private let settings: Settings
    private let loop: EventLoop
    private let providers: ProviderFactory
    private var provider: (any Provider)?
    private var pool: HTTP2Pool?
    private var push: Push?
    private var credential = ""
    private var isSubmitted = false
    private var timer: LoopTimer?
    private var done: ((Ending) -> Void)?

    package init(_ settings: Settings, loop: EventLoop, log: Log) throws {
        self.settings = settings
        self.loop = loop
        providers = try ProviderFactory(settings, loop: loop, log: log)
    }

    /// Sends the first target of a plan to a token; `done` is called once, on the loop.
    ///
    /// `channel` chooses among FCM projects that are for some channels only.
    package func send(
        _ plan: Plan,
        to token: [UInt8],
        channel: [UInt8],
        done: @escaping (Ending) -> Void
    ) {
        loop.preconditionOnLoop()
        self.done = done
        if let failure = plan.failures.first { return fail(failure.reason, failure.text) }
        guard let target = plan.targets.first else { return fail("NothingToSend", "the message has nothing to send") }
        if let failure = target.failure { return fail(failure.reason, failure.text) }
        let message = QueuedMessage(
            entryID: [],
            id: "send-\(loop.unixMilliseconds)-\(UInt64.random(in: .min ... .max))",
            channel: channel,
            message: [],
            received: loop.unixMilliseconds
        )
        let context = MessageContext(message, plan: plan, trace: nil)
        let run = MessageRun(context, kind: .messages, entryID: [], targetCount: 1, owner: Nobody())
        push = Push(run: TargetRun(message: run, number: 0, target: target, ending: nil), token: token, stored: nil)
        timer = loop.schedule(after: Self.deadline) { [self] in
            fail("NoAnswer", "there was no answer within \(Self.deadline)")
        }
        open(target, channel: channel)
    }

    private func open(_ target: Target, channel: [UInt8]) {
        let table = CredentialTable(settings.credentials)
        guard let need = CredentialTable.Need(target, channel: channel) else {
            return fail("NoCredential", "the target has no environment or topic")
        }
        switch table.choose(for: need, unixSeconds: providers.unixSeconds) {
        case .none(let reason, let text): fail(reason, text)
        case .credential(let index):
            let chosen = table.credentials[index]
            credential = chosen.name
            do {
                open(target, with: try PreparedCredential(chosen, extraCA: settings.extraCA))
            } catch {
                fail("NoCredential", "the \(chosen.name) cannot be used: \(error)")
            }
        }
    }

    private func open(_ target: Target, with prepared: PreparedCredential) {
        var way: ProviderFactory.Way
        if case .fcm(let account) = prepared.credential.kind {
            let token = providers.token(of: account)
            provider = providers.fcm(account, token)
            way = providers.wayToFCM
            provider?.whenChanged = { [self] failure in tokenChanged(failure) }
            token.start()
        } else {
            let environment = target.environment ?? .development
            provider = providers.apns(prepared, environment)
            way = providers.way(prepared, environment)
        }
        way.options.keepsAllHeaders = true
        pool = HTTP2Pool(endpoint: way.endpoint, tls: way.tls, options: way.options, on: loop, handler: self)
        pool?.connectIfNeeded()
    }

    private func tokenChanged(_ failure: TargetEnding?) {
        if case .failed(let reason, let text)? = failure { return fail(reason, text) }
        submit()
    }

    private func submit() {
        guard let push, let provider, provider.isReady, !isSubmitted else { return }
        isSubmitted = pool?.submit(provider.request(for: push), tag: 0) == true
    }

    private func fail(_ reason: String, _ text: String) {
        finish(.unanswered(reason: reason, text: text))
    }

    private func finish(_ ending: Ending) {
        guard let done else { return }
        self.done = nil
        timer?.cancel()
        provider?.whenChanged = nil
        provider?.close()
        pool?.close()
        done(ending)
    }
}

extension SingleSend: HTTP2PoolHandler {
    package func poolHasCapacity(_ pool: HTTP2Pool) { submit() }

    package func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response) {
        guard let push, let provider else { return }
        let verdict = provider.verdict(on: response, for: push)
        let name: String? =
            switch provider.name(of: response, for: push) {
            case .apnsID(let id): id
            case .fcmName(let name): name
            case .unknown: nil
            }
        finish(
            .answered(
                Answer(
                    status: response.status,
                    reason: verdict.reason,
                    verdict: verdict,
                    name: name,
                    uniqueID: response.header("apns-unique-id"),
                    credential: credential
                )
            )
        )
    }

    package func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure) {
        fail("NoAnswer", failure.reason)
    }

    package func pool(_ pool: HTTP2Pool, event: HTTP2PoolEvent) {
        switch event {
        case .connected: submit()
        case .connectFailed(let reason, _): fail("NoConnection", "the provider cannot be reached: \(reason)")
        case .goAway(let goAway):
            guard let reason = provider?.refusal(inGoAway: goAway.debugData) else { return }
            fail(reason, "the provider ended the connection")
        case .silent, .closed: break
        }
    }
}

/// Owns the run of a single push: nobody is told.
private final class Nobody: MessageRunOwner {
    func hasBegun(_ run: MessageRun) {}
    func finished(_ run: MessageRun) {}
    func hasOutcomes(_ run: MessageRun) {}
}
