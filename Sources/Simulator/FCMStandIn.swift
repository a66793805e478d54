import Encoding
import HTTP2
import Transport

/// Stands in for FCM HTTP v1.
///
/// Allows 100 streams, and says goodbye to a connection that opens more, as the real service was seen to. Confined to
/// the simulator's loop.
final class FCMStandIn: StandInService {
    let name = "fcm"
    let initialStreamLimit: UInt32 = 100

    private let state: StandInState
    private let check: FCMCheck
    private let tokens: TokenStandIn
    private let projectID: String
    private var messages = 0

    init(projectID: String, tokens: TokenStandIn, state: StandInState) {
        self.projectID = projectID
        self.tokens = tokens
        self.state = state
        check = FCMCheck(projectID: projectID)
    }

    func answer(_ request: ReceivedRequest, on connection: StandInConnection) -> StandInAnswer {
        let device = FCMCheck.deviceToken(in: request.body) ?? ""
        let answer = decide(request, device: device)
        state.oracle.add(
            gateway: name,
            environment: nil,
            device: device,
            request: request,
            time: currentUnixMicroseconds(),
            answer: answer
        )
        return answer
    }

    func tooManyStreams(_ connection: StandInConnection, streamID: Int32) {
        connection.goAway(.enhanceYourCalm, below: streamID, debugData: Array("exceeded_max_concurrent_streams".utf8))
    }

    private func decide(_ request: ReceivedRequest, device: String) -> StandInAnswer {
        if let refusal = check.refusal(of: request, isAccessToken: tokens.isGood) { return StandInAnswer(refusal) }
        if let scripted = state.script.answer(gateway: name, device: device) { return answer(scripted) }
        return accepted()
    }

    private func accepted() -> StandInAnswer {
        messages += 1
        let body = "{\"name\":\"projects/\(projectID)/messages/\(messages)\"}"
        return StandInAnswer(status: 200, headers: [StandInAnswer.json], body: Array(body.utf8))
    }

    private func answer(_ scripted: ScriptedAnswer) -> StandInAnswer {
        var answer = accepted()
        if scripted.status != 200 {
            answer = StandInAnswer(
                FCMRefusal(
                    scripted.status,
                    Self.statusNames[scripted.status] ?? "UNKNOWN",
                    errorCode: scripted.reason,
                    message: Self.messages[scripted.reason ?? ""] ?? "Scripted answer.",
                    otherDetails: scripted.details
                )
            )
        }
        answer.apply(scripted, now: currentUnixMicroseconds() / 1_000_000)
        return answer
    }

    /// `google.rpc.Code` by HTTP status.
    private static let statusNames = [
        400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
    ]

    private static let messages = [
        "UNREGISTERED": "Requested entity was not found.",
        "INVALID_ARGUMENT": "The registration token is not a valid FCM registration token",
        "SENDER_ID_MISMATCH": "SenderId mismatch",
    ]
}
