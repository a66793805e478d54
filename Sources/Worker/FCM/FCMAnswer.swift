import Encoding

/// What FCM's answers mean: the table ``FCMReason/errorCodes`` for the error code of `FcmError`, then
/// ``FCMReason/statuses`` for the status word, then the HTTP status.
///
/// Pure. From Google's "Error codes" and "REST reference" of Firebase Cloud Messaging.
package enum FCMAnswer {
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
        let row = FCMReason.row(code: answer.errorCode, status: answer.status)
        let reason = ProviderAnswer.reason(row?.word ?? answer.status ?? answer.errorCode, status: status)
        switch row?.meaning ?? meaning(ofStatus: status) {
        case .gone: return .removeDevice(reason: reason, deadSince: nil)
        case .invalidArgument:
            return answer.namesToken
                ? .removeDevice(reason: reason, deadSince: nil) : .failed(reason: reason, fault: .push)
        case .failed(let fault): return .failed(reason: reason, fault: fault)
        case .credential(let action): return .credential(reason: reason, action: action)
        case .quota: return .retry(reason: reason, after: RetryAfter.delay(retryAfter, date: date), scope: answer.quota)
        case .retry(let scope):
            return .retry(reason: reason, after: RetryAfter.delay(retryAfter, date: date), scope: scope)
        // APNs'.
        case .doubtful, .doubtfulTopic, .reconnect: return .failed(reason: reason, fault: .push)
        }
    }

    /// The name that FCM gave an accepted message: `projects/…/messages/…`.
    package static func name(inBody body: [UInt8]) -> String? {
        guard body.count <= ProviderAnswer.maximumBodyBytes, let document = try? JSONDocument(body),
            let name = document.root["name"]?.string, (1...512).contains(name.utf8.count)
        else { return nil }
        return name
    }

    /// The meaning of a status when no word is known: never the end of a device.
    package static func meaning(ofStatus status: Int) -> AnswerMeaning {
        switch status {
        case 401: .credential(.refreshToken)
        case 403: .credential(.stop)
        case 408: .retry(.push)
        case 429: .quota
        case 500...599: .retry(.push)
        default: .failed(.push)
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

    /// Who gets or sends too much, as far as Google says.
    var quota: Verdict.RetryScope {
        let texts = (quotas.isEmpty ? [message] : quotas).map { $0.lowercased() }
        if texts.contains(where: { $0.contains("device") }) { return .device }
        return texts.contains { $0.contains("project") || $0.contains("consumer") } ? .project : .quota
    }
}
