package import HTTP2

/// Makes FCM HTTP v1 requests for one project, and reads FCM's answers.
///
/// Confined to the worker's loop.
package final class FCMProvider: Provider {
    package var whenChanged: ((TargetEnding?) -> Void)?

    private let template: HTTP2RequestTemplate
    private let path: [UInt8]
    private let token: FCMTokenSource

    /// `authority` is FCM's host; `token` keeps this project's access token.
    package init(authority: String, projectID: String, token: FCMTokenSource) {
        self.token = token
        path = Array("/v1/projects/\(projectID)/messages:send".utf8)
        template = HTTP2RequestTemplate(
            authority: authority,
            headers: [("content-type", Array("application/json".utf8))],
            varying: ["authorization"]
        )
        token.whenChanged = { [weak self] failure in
            self?.whenChanged?(failure.map { .failed(reason: $0.reason, text: $0.text) })
        }
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
        return FCMAnswer.verdict(
            status: response.status,
            body: response.body,
            retryAfter: response.header("retry-after"),
            date: response.header("date")
        )
    }

    package func name(of response: HTTP2Response, for push: Push) -> AcceptedName {
        FCMAnswer.name(inBody: response.body).map(AcceptedName.fcmName) ?? .unknown
    }

    package func refreshCredential(reason: String) -> Bool {
        token.refresh()
        return true
    }

    package func close() { token.close() }
}
