import Encoding
import HTTP2
import Transport

/// Stands in for APNs in one environment.
///
/// A connection starts with one stream and gets ``streamLimit`` after the first request with a good token, or at once
/// when it has shown a certificate (Apple: Sending notification requests to APNs). Confined to the simulator's loop.
final class APNsStandIn: StandInService {
    /// Seen from the real service since 2019.
    static let streamLimit: UInt32 = 1000

    let name = "apns"
    let initialStreamLimit: UInt32 = 1

    private let environment: String
    private let state: StandInState
    private let check: APNsCheck

    init(environment: String, check: APNsCheck, state: StandInState) {
        self.environment = environment
        self.check = check
        self.state = state
    }

    func answer(_ request: ReceivedRequest, on connection: StandInConnection) -> StandInAnswer {
        let time = currentUnixMicroseconds()
        let device = String(request.path.dropFirst("/3/device/".count))
        let answer = decide(request, device: device, now: time / 1_000_000, connection)
        state.oracle.add(
            gateway: name,
            environment: environment,
            device: device,
            request: request,
            time: time,
            answer: answer
        )
        return answer
    }

    func opened(_ connection: StandInConnection) {
        // The handshake has shown who it is; only tokens have to be proven by a request.
        if connection.certificate != nil { connection.raiseStreamLimit(to: Self.streamLimit) }
    }

    func tooManyStreams(_ connection: StandInConnection, streamID: Int32) {
        connection.reset(streamID, .refusedStream)
    }

    private func decide(
        _ request: ReceivedRequest,
        device: String,
        now: Int64,
        _ connection: StandInConnection
    ) -> StandInAnswer {
        var answer: StandInAnswer
        let refusal = check.refusal(
            of: request,
            now: now,
            environment: environment,
            certificate: connection.certificate,
            memory: &connection.tokenMemory
        )
        if let refusal {
            answer = StandInAnswer(refusal)
        } else if let scripted = state.script.answer(gateway: name, device: device) {
            answer = Self.answer(scripted, now: now)
            connection.raiseStreamLimit(to: Self.streamLimit)
        } else {
            answer = StandInAnswer(status: 200)
            connection.raiseStreamLimit(to: Self.streamLimit)
        }
        answer.headers.append(HTTP2HeaderField("apns-id", request.header("apns-id") ?? Self.newID()))
        return answer
    }

    /// The reasons that scripts without one mean.
    private static let usualReasons = [
        400: "BadDeviceToken", 403: "Forbidden", 404: "BadPath", 405: "MethodNotAllowed", 410: "Unregistered",
        413: "PayloadTooLarge", 429: "TooManyRequests", 503: "ServiceUnavailable",
    ]

    private static func answer(_ scripted: ScriptedAnswer, now: Int64) -> StandInAnswer {
        var answer = StandInAnswer(status: scripted.status)
        if scripted.status != 200 {
            let timestamp = scripted.status == 410 ? scripted.timestamp ?? now * 1000 : scripted.timestamp
            let reason = scripted.reason ?? usualReasons[scripted.status] ?? "InternalServerError"
            answer = StandInAnswer(APNsRefusal(scripted.status, reason, timestamp: timestamp))
        }
        answer.apply(scripted, now: now)
        return answer
    }

    /// A random UUID (RFC 9562 section 5.4), for requests that bring none.
    private static func newID() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(Digest.hexadecimal(bytes))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
}
