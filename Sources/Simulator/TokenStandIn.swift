import Encoding
import HTTP2
import Transport

/// Stands in for Google's token endpoint.
///
/// Confined to the simulator's loop.
final class TokenStandIn: StandInService {
    let name = "token"
    let initialStreamLimit: UInt32 = 100

    private let state: StandInState
    /// Set when the endpoint's own URL is known.
    var check: TokenEndpointCheck?
    /// The tokens given out, with the unix seconds at which they end.
    private var given: [String: Int64] = [:]

    init(state: StandInState) {
        self.state = state
    }

    /// Whether a token was given out and still holds.
    func isGood(_ token: String) -> Bool {
        given[token].map { currentUnixMicroseconds() / 1_000_000 < $0 } ?? false
    }

    func answer(_ request: ReceivedRequest, on connection: StandInConnection) -> StandInAnswer {
        let now = currentUnixMicroseconds() / 1_000_000
        guard request.method == "POST", request.path == "/token", let check else { return StandInAnswer(status: 404) }
        if let refusal = check.refusal(ofForm: request.body, now: now) {
            return StandInAnswer(status: 400, reason: refusal.error, headers: [StandInAnswer.json], body: refusal.body)
        }
        let scripted = state.script.answer(gateway: name, device: "")
        if let scripted, scripted.status != 200 || scripted.fault != nil { return Self.refusal(scripted, now: now) }
        let lifetime = scripted?.expiresIn ?? Int64(TokenEndpointCheck.lifetimeSeconds)
        var answer = accepted(now: now, lifetime: lifetime)
        if let scripted { answer.apply(scripted, now: now) }
        return answer
    }

    private func accepted(now: Int64, lifetime: Int64) -> StandInAnswer {
        let random = (0..<24).map { _ in UInt8.random(in: 0...255) }
        let token = "ya29.simulated-" + Digest.hexadecimal(random)
        given[token] = now + lifetime
        let body = "{\"access_token\":\"\(token)\",\"expires_in\":\(lifetime),\"token_type\":\"Bearer\"}"
        return StandInAnswer(status: 200, headers: [StandInAnswer.json], body: Array(body.utf8))
    }

    private static func refusal(_ scripted: ScriptedAnswer, now: Int64) -> StandInAnswer {
        let error = scripted.reason ?? (scripted.status < 500 ? "invalid_grant" : "internal_failure")
        var json = JSONWriter()
        json.beginObject()
        json.key("error")
        json.string(error)
        json.key("error_description")
        json.string("Scripted answer.")
        json.endObject()
        var answer = StandInAnswer(
            status: scripted.status,
            reason: error,
            headers: [StandInAnswer.json],
            body: json.bytes
        )
        answer.apply(scripted, now: now)
        return answer
    }

    func tooManyStreams(_ connection: StandInConnection, streamID: Int32) {
        connection.reset(streamID, .refusedStream)
    }
}
