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
    var sequel: ScriptedAnswer.Sequel?
    var goAwayData: [UInt8] = []

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
    ///
    /// `now` is in unix seconds.
    mutating func apply(_ scripted: ScriptedAnswer, now: Int64) {
        if let body = scripted.body { self.body = Array(body.utf8) }
        for header in scripted.headers {
            headers.removeAll { $0.name == header.name }
            headers.append(HTTP2HeaderField(header.name, header.value))
        }
        let date = scripted.retryAfterSeconds.map { HTTPDate.text(unixSeconds: now + $0) }
        if let text = scripted.retryAfter ?? date { headers.append(HTTP2HeaderField("retry-after", text)) }
        sequel = scripted.sequel
        goAwayData = scripted.goAwayData
        delay = scripted.delay
        fault = scripted.fault
    }

    static let json = HTTP2HeaderField("content-type", "application/json; charset=UTF-8")
}
