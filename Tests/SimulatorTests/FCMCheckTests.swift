import Encoding
import Testing

@testable import Simulator

@Suite("What the stand-ins for Google check")
struct FCMCheckTests {
    private let check = FCMCheck(projectID: "demo")

    private func refusal(
        _ message: String,
        path: String = "/v1/projects/demo/messages:send",
        authorization: String = "Bearer good"
    ) -> FCMRefusal? {
        let request = ReceivedRequest(
            method: "POST",
            path: path,
            headers: [(name: "authorization", value: authorization)],
            body: Array(message.utf8)
        )
        return check.refusal(of: request) { $0 == "good" }
    }

    @Test(
        "Messages that fit are accepted, in either spelling of the names",
        arguments: [
            #"{"message":{"token":"t","data":{"a":"b"}}}"#,
            #"{"message":{"token":"t","android":{"collapse_key":"c","ttl":"3.5s","priority":"high"}}}"#,
            #"{"message":{"token":"t","android":{"collapseKey":"c","notification":{"channelId":"x"}}}}"#,
            #"{"validate_only":true,"message":{"token":"t","apns":{"payload":{"aps":{"badge":1}}}}}"#,
        ]
    )
    func accepted(message: String) {
        #expect(refusal(message) == nil)
    }

    @Test(
        "What FCM does not know, or not in this form, is refused as an invalid argument",
        arguments: [
            (#"{"message":{"token":"t","data":{"a":1}}}"#, "message.data[a].value"),
            (#"{"message":{"token":"t","notification":{"sound":"x"}}}"#, "message.notification"),
            (#"{"message":{"token":"t","notification":null}}"#, "message.notification"),
            (#"{"message":{"token":"t","android":{"ttl":30}}}"#, "message.android.ttl"),
            (#"{"message":{"token":"t","topic":"x"}}"#, "message"),
            (#"{"message":{"data":{}}}"#, "message"),
            (#"{"message":{"token":"t","data":{"google.x":"y"}}}"#, "message.data"),
            (#"{"message":{"token":"t"},"x":1}"#, ""),
            (#"{"#, ""),
        ]
    )
    func refused(message: String, field: String) {
        let found = refusal(message)
        #expect(found?.httpStatus == 400)
        #expect(found?.status == "INVALID_ARGUMENT")
        #expect(found?.violations.first?.field == field)
    }

    @Test("A message over 4096 bytes is refused")
    func tooBig() {
        let text = String(repeating: "x", count: 4095)
        #expect(refusal(#"{"message":{"token":"t","data":{"a":"\#(text)"}}}"#) == nil)
        #expect(refusal(#"{"message":{"token":"t","data":{"ab":"\#(text)"}}}"#)?.message == "Message is too big.")
    }

    @Test("Another project is not found, another access token is not authenticated")
    func outside() {
        let message = #"{"message":{"token":"t"}}"#
        #expect(refusal(message, path: "/v1/projects/other/messages:send")?.httpStatus == 404)
        let found = refusal(message, authorization: "Bearer old")
        #expect(found?.httpStatus == 401)
        #expect(found?.errorCode == nil)
    }

    @Test("A refusal's JSON names code, status and details")
    func body() throws {
        let refusal = FCMRefusal(404, "NOT_FOUND", errorCode: "UNREGISTERED", message: "gone")
        let root = try JSONDocument(refusal.body).root
        #expect(root["error"]?["code"]?.integer == 404)
        #expect(root["error"]?["details"]?[0]?["errorCode"]?.string == "UNREGISTERED")
    }
}

@Suite("What the stand-in for the token endpoint checks")
struct TokenEndpointCheckTests {
    private let audience = "http://127.0.0.1/token"
    private let now: Int64 = 1_764_500_000

    private func error(
        key: SigningKey,
        signer: SigningKey? = nil,
        email: String = "a@b",
        audience: String = "http://127.0.0.1/token",
        scope: String = TokenEndpointCheck.scope,
        life: Int64 = 3600
    ) throws -> String? {
        let assertion = try SignedToken.make(keyID: nil, hasType: true, key: signer ?? key) {
            for (name, value) in [("iss", email), ("aud", audience), ("scope", scope)] {
                $0.key(name)
                $0.string(value)
            }
            $0.key("iat")
            $0.integer(now)
            $0.key("exp")
            $0.integer(now + life)
        }
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        let body = Array(form.utf8) + assertion
        let check = TokenEndpointCheck(key: key, clientEmail: "a@b", audience: self.audience)
        return check.refusal(ofForm: body, now: now)?.error
    }

    @Test("A good assertion is accepted and each fault is refused")
    func assertions() throws {
        let key = try SigningKey.generate(.rs256)
        #expect(try error(key: key) == nil)
        #expect(try error(key: key, signer: SigningKey.generate(.rs256)) == "invalid_grant")
        #expect(try error(key: key, email: "x@y") == "invalid_grant")
        #expect(try error(key: key, audience: "https://elsewhere") == "invalid_grant")
        #expect(try error(key: key, scope: "other") == "invalid_scope")
        #expect(try error(key: key, life: 7200) == "invalid_grant")
    }

    @Test("A form that is none is refused")
    func forms() throws {
        let check = TokenEndpointCheck(key: try SigningKey.generate(.rs256), clientEmail: "a@b", audience: audience)
        #expect(check.refusal(ofForm: [], now: now)?.error == "unsupported_grant_type")
        #expect(TokenEndpointCheck.form(Array("a=b+c&d=%41%zz%4".utf8)) == ["a": "b c", "d": "A%zz%4"])
    }
}
