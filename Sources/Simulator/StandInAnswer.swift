import Encoding
import HTTP2

/// What a stand-in does with one request.
struct StandInAnswer {
    let status: Int
    let reason: String?
    var headers: [HTTP2HeaderField] = []
    var body: [UInt8] = []
    var delay: Duration = .zero
    var fault: ScriptedAnswer.Fault?

    init(status: Int, reason: String? = nil, headers: [HTTP2HeaderField] = [], body: [UInt8] = []) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.body = body
    }

    init(_ refusal: APNsRefusal) {
        self.init(status: refusal.status, reason: refusal.reason, body: refusal.body)
    }

    init(_ refusal: FCMRefusal) {
        self.init(
            status: refusal.httpStatus,
            reason: refusal.errorCode ?? refusal.status,
            headers: [StandInAnswer.json],
            body: refusal.body
        )
    }

    /// Applies what all scripted answers may have.
    mutating func apply(_ scripted: ScriptedAnswer) {
        if let body = scripted.body { self.body = Array(body.utf8) }
        if let retryAfter = scripted.retryAfter { headers.append(HTTP2HeaderField("retry-after", retryAfter)) }
        delay = scripted.delay
        fault = scripted.fault
    }

    static let json = HTTP2HeaderField("content-type", "application/json; charset=UTF-8")
}
