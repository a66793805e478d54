import Encoding
import Testing
import Worker

/// The properties of ``ProviderProperties`` on good inputs that were damaged: cut, doubled, with bytes changed.
@Suite struct ProviderPropertyTests {
    /// Repeatable chance (SplitMix64).
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
            return word ^ (word >> 31)
        }
    }

    private static let answers = [
        #"{"reason":"Unregistered","timestamp":1764500000123}"#,
        #"{"reason":"BadDeviceToken"}"#,
        #"{"reason":"DeviceTokenNotForTopic"}"#,
        #"{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}"#,
        #"{"error":{"code":400,"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token","description":"x"}]}]}}"#,
        #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#,
        #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#,
        "Mon, 30 Nov 2026 10:00:00 GMT",
        "120",
    ]

    private static func damaged(_ bytes: [UInt8], _ chance: inout Chance) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...4, using: &chance) {
            guard !bytes.isEmpty else { return bytes }
            let place = Int.random(in: 0..<bytes.count, using: &chance)
            switch Int.random(in: 0..<4, using: &chance) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &chance)
            case 1: bytes.removeLast(bytes.count - place)
            case 2: bytes.insert(contentsOf: bytes[place...], at: place)
            default: bytes.remove(at: place)
            }
        }
        return bytes
    }

    @Test("Damaged answers never remove what they should not")
    func answers() {
        var chance = Chance(state: 1)
        for round in 0..<3000 {
            let answer = Array(Self.answers[round % Self.answers.count].utf8)
            let input = [UInt8.random(in: 0...255, using: &chance)] + Self.damaged(answer, &chance)
            let problem = ProviderProperties.answer(input)
            #expect(problem == nil, "\(String(decoding: input, as: UTF8.self))")
        }
    }

    @Test("Damaged credentials are taken or refused, and nothing else")
    func credentials() throws {
        var chance = Chance(state: 2)
        let pem = try SigningKey.generate(.es256).privatePEM()
        let token = try SignedToken.make(keyID: "k", key: SigningKey(pem, .es256)) { _ in }
        let account = #"{"type":"service_account","project_id":"p","client_email":"a@b","private_key":"x"}"#
        let inputs = [pem, Base64.encode(pem), token, Array(account.utf8), Array("https://user@host:80/x".utf8), []]
        for round in 0..<600 {
            let input = Self.damaged(inputs[round % inputs.count], &chance)
            #expect(ProviderProperties.credential(input) == nil, "\(String(decoding: input, as: UTF8.self))")
        }
    }
}
