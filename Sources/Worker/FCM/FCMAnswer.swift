import Encoding

/// What FCM's answers mean: one table for the error code of `FcmError`, then one for the status word, then the HTTP
/// status.
///
/// Pure. From Google's "Error codes" and "REST reference" of Firebase Cloud Messaging.
package enum FCMAnswer {
    private enum Meaning {
        case gone
        /// A dead token or a faulty message: the details tell.
        case invalidArgument
        case failed
        case credential(Verdict.CredentialAction)
        /// The project sends too much, or one device gets too much: the details tell.
        case quota
        case retry
    }

    /// The meaning of a word as the error code of `FcmError`; `UNSPECIFIED_ERROR` says nothing and is not here.
    private static let errorCodes: [FCMReason: Meaning] = [
        .unregistered: .gone,
        .invalidArgument: .invalidArgument,
        .senderIDMismatch: .failed,
        .thirdPartyAuthError: .failed,
        .quotaExceeded: .quota,
        .unavailable: .retry,
        .internal: .retry,
    ]

    /// The meaning of a word as `error.status`.
    private static let statuses: [FCMReason: Meaning] = [
        .invalidArgument: .invalidArgument,
        .unauthenticated: .credential(.refreshToken),
        .permissionDenied: .credential(.stop),
        .notFound: .credential(.stop),
        .resourceExhausted: .quota,
        .quotaExceeded: .quota,
        .unavailable: .retry,
        .internal: .retry,
        .deadlineExceeded: .retry,
    ]

    /// The meaning of an answer.
    ///
    /// `body` may be anything: empty, HTML of a proxy, cut off. `retryAfter` and `date` are the headers of these names.
    package static func verdict(
        status: Int,
        body: [UInt8],
        retryAfter: String? = nil,
        date: String? = nil
    ) -> Verdict {
        if status == 200 { return .sent }
        let answer = FCMErrorBody(body)
        let code = answer.errorCode.map(FCMReason.init(rawValue:))
        let word = answer.status.map(FCMReason.init(rawValue:))
        let isKnownCode = code.flatMap { errorCodes[$0] } != nil
        let reason = ProviderAnswer.reason(isKnownCode ? code?.rawValue : (word ?? code)?.rawValue, status: status)
        let meaning =
            code.flatMap { errorCodes[$0] } ?? word.flatMap { statuses[$0] } ?? Self.meaning(ofStatus: status)
        let after = RetryAfter.delay(retryAfter, date: date)
        switch meaning {
        case .gone: return .removeDevice(reason: reason, deadSince: nil)
        case .invalidArgument:
            return answer.namesToken ? .removeDevice(reason: reason, deadSince: nil) : .failed(reason: reason)
        case .failed: return .failed(reason: reason)
        case .credential(let action): return .credential(reason: reason, action: action)
        case .quota:
            return .retry(reason: reason, after: after, scope: answer.isDeviceQuota ? .device : .project)
        case .retry: return .retry(reason: reason, after: after, scope: .push)
        }
    }

    /// The name that FCM gave an accepted message: `projects/…/messages/…`.
    package static func name(inBody body: [UInt8]) -> String? {
        guard body.count <= ProviderAnswer.maximumBodyBytes, let document = try? JSONDocument(body),
            let name = document.root["name"]?.string, (1...512).contains(name.utf8.count)
        else { return nil }
        return name
    }

    private static func meaning(ofStatus status: Int) -> Meaning {
        switch status {
        case 401: .credential(.refreshToken)
        case 403: .credential(.stop)
        case 408: .retry
        case 429: .quota
        case 500...599: .retry
        default: .failed
        }
    }
}

/// The parts of FCM's error body that decide.
///
/// `{"error":{"code":…,"message":…,"status":…,"details":[…]}}`; each part may be missing or of another kind.
struct FCMErrorBody {
    /// `error.status`.
    private(set) var status: String?
    /// The code of the entry of the type `FcmError`.
    private(set) var errorCode: String?
    private var message = ""
    /// Fields of the entry of the type `google.rpc.BadRequest`.
    private var fields: [String] = []
    /// Texts of the entry of the type `google.rpc.QuotaFailure`.
    private var quotas: [String] = []

    init(_ body: [UInt8]) {
        guard !body.isEmpty, body.count <= ProviderAnswer.maximumBodyBytes, let document = try? JSONDocument(body),
            let error = document.root["error"]
        else { return }
        status = error["status"]?.string
        message = error["message"]?.string ?? ""
        guard let details = error["details"] else { return }
        for detail in details.elements {
            let type = detail["@type"]?.string ?? ""
            if type.hasSuffix("google.firebase.fcm.v1.FcmError") {
                errorCode = detail["errorCode"]?.string ?? errorCode
            } else if type.hasSuffix("google.rpc.BadRequest"), let violations = detail["fieldViolations"] {
                fields += violations.elements.map { $0["field"]?.string ?? "" }
            } else if type.hasSuffix("google.rpc.QuotaFailure"), let violations = detail["violations"] {
                quotas += violations.elements.flatMap { [$0["subject"]?.string, $0["description"]?.string] }
                    .compactMap { $0 }
            }
        }
    }

    /// Whether an invalid argument is the device token and nothing else.
    ///
    /// Field violations decide where there are any; else Google's text for this case, "The registration token is not a
    /// valid FCM registration token".
    var namesToken: Bool {
        guard fields.isEmpty else { return fields.allSatisfy { $0 == "message.token" } }
        return message.lowercased().contains("registration token is not")
    }

    /// Whether it is one device that gets too much.
    var isDeviceQuota: Bool {
        (quotas.isEmpty ? [message] : quotas).contains { $0.lowercased().contains("device") }
    }
}
