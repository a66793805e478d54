package import Transport

/// Keeps an access token for FCM at hand: fetches it, renews it before it ends, and again when FCM refuses it.
///
/// The shell around ``FCMAccessToken``: HTTPS and timers. Confined to the worker's loop.
package final class FCMTokenSource {
    /// Called on the loop when pushes can be sent that could not before (nil), or when there is no token to be had.
    package var whenChanged: ((FCMAccessToken.Failure?) -> Void)?

    private let account: FCMServiceAccount
    private let extraCA: [UInt8]?
    private let proxy: ProxyRules
    private let clock: ClockWatch
    private let loop: EventLoop
    private let log: Log
    private var state = FCMAccessToken()
    private var timer: LoopTimer?
    private var isClosed = false

    /// `extraCA` are trusted besides the system's certificates; PEM.
    package init(
        _ account: FCMServiceAccount,
        extraCA: [UInt8]?,
        proxy: ProxyRules,
        clock: ClockWatch,
        loop: EventLoop,
        log: Log
    ) {
        self.account = account
        self.extraCA = extraCA
        self.proxy = proxy
        self.clock = clock
        self.loop = loop
        self.log = log
    }

    /// Fetches the first token.
    package func start() {
        loop.preconditionOnLoop()
        step()
    }

    /// Ends all timers; a fetch on its way is forgotten.
    package func close() {
        isClosed = true
        timer?.cancel()
        timer = nil
    }

    /// The value of the header `authorization`; nil while there is no usable token.
    package var authorization: [UInt8]? { state.authorization(now: milliseconds) }

    /// Why there is no token, when Google refuses the account.
    package var failure: FCMAccessToken.Failure? { authorization == nil ? state.failure : nil }

    /// FCM refused the token: gets another one.
    package func refresh() {
        state.refuse(now: milliseconds)
        step()
    }

    private var milliseconds: Int64 { loop.now.nanoseconds / 1_000_000 }

    private func step() {
        guard !isClosed else { return }
        timer?.cancel()
        timer = nil
        switch state.next(now: milliseconds) {
        case .fetch: fetch()
        case .wait(let until):
            timer = loop.schedule(after: .milliseconds(until - milliseconds)) { [weak self] in self?.step() }
        case .none: break
        }
    }

    private func fetch() {
        let body: [UInt8]
        do {
            body = try FCMTokenRequest.body(for: account, unixSeconds: loop.unixMilliseconds / 1000)
        } catch {
            return finish(.refused(.init(reason: "NoAssertion", text: "the service account's key \(error)")))
        }
        var request = HTTPSClient.Request("POST", account.tokenURI)
        request.headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")]
        request.body = body
        request.extraCA = extraCA
        request.proxy = .rules(proxy)
        HTTPSClient.perform(request, on: loop) { [weak self] result in
            guard let self, !isClosed else { return }
            switch result {
            case .success(let response):
                let date = response.header("date")
                clock.note(date)
                finish(
                    FCMTokenRequest.read(
                        status: response.status,
                        body: response.body,
                        date: date,
                        unixSeconds: loop.unixMilliseconds / 1000
                    )
                )
            case .failure(let error):
                finish(
                    .unavailable(.init(reason: "TokenEndpoint", text: "the token endpoint cannot be asked: \(error)"))
                )
            }
        }
    }

    private func finish(_ result: FCMAccessToken.Fetched) {
        state.fetched(result, now: milliseconds, random: Double.random(in: 0..<1))
        switch result {
        case .token:
            log.debug("got an access token for FCM", ["project": account.projectID])
            whenChanged?(nil)
        case .refused(let failure):
            log.error("there is no access token for FCM", ["project": account.projectID, "error": failure.text])
            if authorization == nil { whenChanged?(failure) }
        case .unavailable(let failure):
            log.warning("no access token for FCM yet", ["project": account.projectID, "error": failure.text])
        }
        step()
    }
}
