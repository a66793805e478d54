package import HTTP2

/// What shows APNs whose requests they are.
package enum APNsAuthentication {
    /// A header of each request; shared by the environments of a key: one for each key and process.
    case token(APNsProviderToken)
    /// The connection's certificate.
    case certificate
}

/// Makes APNs requests, and reads APNs' answers.
///
/// One for each environment and credential. Confined to the worker's loop.
package final class APNsProvider: Provider {
    package let gateway = Gateway.apns
    package var whenChanged: ((TargetEnding?) -> Void)?
    package let isReady = true

    private static let pathPrefix = Array("/3/device/".utf8)

    private let authority: String
    private var authentication: APNsAuthentication
    private let clock: ClockWatch
    /// The wall clock in unix milliseconds.
    private let now: () -> Int64

    package init(
        authority: String,
        authentication: APNsAuthentication,
        clock: ClockWatch,
        now: @escaping () -> Int64
    ) {
        self.authority = authority
        self.authentication = authentication
        self.clock = clock
        self.now = now
    }

    /// Another credential of the same kind; connections that were proven by the former one do not take it.
    package func use(_ authentication: APNsAuthentication) {
        self.authentication = authentication
    }

    package func request(for push: Push) -> HTTP2Request {
        var path: [UInt8] = []
        path.reserveCapacity(Self.pathPrefix.count + push.token.count)
        path.append(contentsOf: Self.pathPrefix)
        path.append(contentsOf: push.token)
        var values = [push.run.apnsID(push.token)]
        if case .token(let token) = authentication { values.append(token.authorization(now: now())) }
        return HTTP2Request(template(of: push.run), path: path, values: values)
    }

    package func verdict(on response: HTTP2Response, for push: Push) -> Verdict {
        if response.status == 200 { return .sent }
        let date = response.header("date")
        clock.note(date)
        return APNsAnswer.verdict(
            status: response.status,
            body: response.body,
            retryAfter: response.header("retry-after"),
            date: date,
            suffixAdded: push.run.target.isSuffixAdded
        )
    }

    package func name(of response: HTTP2Response, for push: Push) -> AcceptedName {
        .apnsID(String(decoding: push.run.apnsID(push.token), as: UTF8.self))
    }

    package func refreshCredential() -> CredentialRefresh {
        guard case .token(let token) = authentication else { return .impossible }
        return token.refresh(now: now())
    }

    package func refusal(inGoAway debugData: [UInt8]) -> String? {
        APNsAnswer.refusal(inGoAway: debugData)
    }

    private func template(of run: TargetRun) -> HTTP2RequestTemplate {
        if let template = run.template { return template }
        var varying = ["apns-id"]
        if case .token = authentication { varying.append("authorization") }
        let template = HTTP2RequestTemplate(
            authority: authority,
            headers: run.target.apnsHeaders,
            varying: varying,
            body: run.target.body
        )
        run.template = template
        return template
    }
}
