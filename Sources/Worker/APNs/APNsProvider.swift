package import HTTP2

/// Makes APNs requests with a token-authenticated credential, and reads APNs' answers.
///
/// One for each environment and credential. Confined to the worker's loop.
package final class APNsProvider: Provider {
    package var whenChanged: ((TargetEnding?) -> Void)?
    package let isReady = true

    private static let pathPrefix = Array("/3/device/".utf8)

    private let authority: String
    private let token: APNsProviderToken
    /// The wall clock in unix milliseconds.
    private let now: () -> Int64

    /// `token` is shared by the environments of a key: one for each key and process.
    package init(authority: String, token: APNsProviderToken, now: @escaping () -> Int64) {
        self.authority = authority
        self.token = token
        self.now = now
    }

    package func request(for push: Push) -> HTTP2Request {
        var path: [UInt8] = []
        path.reserveCapacity(Self.pathPrefix.count + push.token.count)
        path.append(contentsOf: Self.pathPrefix)
        path.append(contentsOf: push.token)
        return HTTP2Request(
            template(of: push.run),
            path: path,
            values: [push.run.apnsID(push.token), token.authorization(now: now())]
        )
    }

    package func verdict(on response: HTTP2Response, for push: Push) -> Verdict {
        if response.status == 200 { return .sent }
        return APNsAnswer.verdict(
            status: response.status,
            body: response.body,
            retryAfter: response.header("retry-after"),
            date: response.header("date"),
            suffixAdded: push.run.target.isSuffixAdded
        )
    }

    package func name(of response: HTTP2Response, for push: Push) -> AcceptedName {
        .apnsID(String(decoding: push.run.apnsID(push.token), as: UTF8.self))
    }

    package func refreshCredential(reason: String) -> Bool {
        token.refresh(now: now())
    }

    private func template(of run: TargetRun) -> HTTP2RequestTemplate {
        if let template = run.template { return template }
        let template = HTTP2RequestTemplate(
            authority: authority,
            headers: run.target.apnsHeaders,
            varying: ["apns-id", "authorization"],
            body: run.target.body
        )
        run.template = template
        return template
    }
}
