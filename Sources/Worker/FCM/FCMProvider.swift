package import HTTP2

/// Makes FCM HTTP v1 requests for one project, and reads FCM's answers.
///
/// Confined to the worker's loop.
package final class FCMProvider: Provider {
    package let gateway = Gateway.fcm
    package var whenChanged: ((TargetEnding?) -> Void)?

    private let template: HTTP2RequestTemplate
    private var path: [UInt8]
    private var token: FCMTokenSource
    private let clock: ClockWatch
    /// What is used as soon as it has a token.
    private var next: (projectID: String, token: FCMTokenSource)?

    /// `authority` is FCM's host; `token` keeps this project's access token.
    package init(authority: String, projectID: String, token: FCMTokenSource, clock: ClockWatch) {
        self.token = token
        self.clock = clock
        path = Self.path(projectID)
        template = HTTP2RequestTemplate(
            authority: authority,
            headers: [("content-type", Array("application/json".utf8))],
            varying: ["authorization"]
        )
        listen(to: token)
    }

    /// Another project or account, from its first token on; until then, and if it never gets one, the former is used.
    package func use(projectID: String, _ token: FCMTokenSource) {
        next?.token.close()
        next = (projectID, token)
        token.whenChanged = { [weak self] failure in
            if failure == nil { self?.takeNext() }
        }
        token.start()
    }

    private func takeNext() {
        guard let next else { return }
        self.next = nil
        token.whenChanged = nil
        token.close()
        token = next.token
        path = Self.path(next.projectID)
        listen(to: token)
        whenChanged?(nil)
    }

    private func listen(to token: FCMTokenSource) {
        token.whenChanged = { [weak self] failure in
            self?.whenChanged?(failure.map { .failed(reason: $0.reason, text: $0.text) })
        }
    }

    private static func path(_ projectID: String) -> [UInt8] {
        Array("/v1/projects/\(projectID)/messages:send".utf8)
    }

    package var isReady: Bool { token.authorization != nil }

    package var failure: TargetEnding? {
        token.failure.map { .failed(reason: $0.reason, text: $0.text) }
    }

    package func request(for push: Push) -> HTTP2Request {
        HTTP2Request(
            template,
            path: path,
            values: [token.authorization ?? []],
            body: push.run.target.fcmBody(token: push.token)
        )
    }

    package func verdict(on response: HTTP2Response, for push: Push) -> Verdict {
        if response.status == 200 { return .sent }
        let date = response.header("date")
        clock.note(date)
        return FCMAnswer.verdict(
            status: response.status,
            body: response.body,
            retryAfter: response.header("retry-after"),
            date: date
        )
    }

    package func name(of response: HTTP2Response, for push: Push) -> AcceptedName {
        FCMAnswer.name(inBody: response.body).map(AcceptedName.fcmName) ?? .unknown
    }

    package func refreshCredential() -> CredentialRefresh {
        token.refresh()
        return .underway
    }

    package func close() {
        token.close()
        next?.token.close()
    }
}
