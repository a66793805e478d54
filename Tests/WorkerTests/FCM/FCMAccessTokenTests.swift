import Encoding
import Testing
import Worker

@Suite struct FCMAccessTokenTests {
    private let token = Array("ya29.token".utf8)
    private let header = Array("Bearer ya29.token".utf8)
    private let down = FCMAccessToken.Fetched.unavailable(.init(reason: "HTTP 503", text: "text"))
    private let refusal = FCMAccessToken.Failure(reason: "invalid_grant", text: "text")

    @Test("The first token is fetched at once, by one fetch, and replaced at 80 % of its life")
    func life() {
        var state = FCMAccessToken()
        #expect(state.authorization(now: 0) == nil)
        #expect(state.next(now: 0) == .fetch)
        #expect(state.next(now: 1) == .none)
        state.fetched(.token(token, expiresIn: 3600), now: 1000, random: 0)
        #expect(state.authorization(now: 1000) == header)
        #expect(state.next(now: 1000) == .wait(until: 1000 + 2_880_000))
        #expect(state.next(now: 2_881_000) == .fetch)
        #expect(state.authorization(now: 2_881_000) == header)
        // The last minute is kept for requests on their way.
        #expect(state.authorization(now: 1000 + 3_539_999) == header)
        #expect(state.authorization(now: 1000 + 3_540_000) == nil)
    }

    @Test("A short life is used to nine tenths, and never makes one fetch after the other")
    func shortLife() {
        var state = FCMAccessToken()
        _ = state.next(now: 0)
        state.fetched(.token(token, expiresIn: 10), now: 0, random: 0)
        #expect(state.authorization(now: 8999) == header)
        #expect(state.authorization(now: 9000) == nil)
        #expect(state.next(now: 0) == .wait(until: 8000))
        for seconds in [0, -5, Int64.min] {
            var state = FCMAccessToken()
            _ = state.next(now: 0)
            state.fetched(.token(token, expiresIn: seconds), now: 0, random: 0)
            #expect(state.next(now: 0) == .wait(until: 800))
        }
        var long = FCMAccessToken()
        _ = long.next(now: 0)
        long.fetched(.token(token, expiresIn: .max), now: 0, random: 0)
        #expect(long.next(now: 0) == .wait(until: 69_120_000))
    }

    @Test("Failures are repeated with growing waits, at most a minute")
    func backOff() {
        var state = FCMAccessToken()
        var now: Int64 = 0
        for window: Int64 in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
            #expect(state.next(now: now) == .fetch)
            state.fetched(down, now: now, random: 0.5)
            let until = now + window / 2 + window / 4
            #expect(state.next(now: now) == .wait(until: until))
            now = until
        }
        _ = state.next(now: now)
        state.fetched(.token(token, expiresIn: 3600), now: now, random: 0)
        #expect(state.authorization(now: now) == header)
        #expect(state.failure == nil)
    }

    @Test("A failed renewal leaves the old token until its end")
    func keepsTheOldToken() {
        var state = FCMAccessToken()
        _ = state.next(now: 0)
        state.fetched(.token(token, expiresIn: 3600), now: 0, random: 0)
        _ = state.next(now: 2_880_000)
        state.fetched(down, now: 2_880_000, random: 0)
        #expect(state.authorization(now: 2_900_000) == header)
        #expect(state.next(now: 2_880_500) == .fetch)
    }

    @Test("A refused account is tried again after a minute, and the reason is kept till then")
    func refused() {
        var state = FCMAccessToken()
        _ = state.next(now: 0)
        state.fetched(.refused(refusal), now: 0, random: 0)
        #expect(state.failure == refusal)
        #expect(state.next(now: 0) == .wait(until: 60_000))
        #expect(state.next(now: 60_000) == .fetch)
        state.fetched(.token(token, expiresIn: 3600), now: 60_000, random: 0)
        #expect(state.failure == nil)
    }

    @Test("FCM's refusal of a token brings another one, unless it is brand new")
    func refusedToken() {
        var state = FCMAccessToken()
        state.refuse(now: 0)
        _ = state.next(now: 0)
        state.refuse(now: 0)
        #expect(state.next(now: 0) == .none)
        state.fetched(.token(token, expiresIn: 3600), now: 0, random: 0)
        state.refuse(now: 9000)
        #expect(state.authorization(now: 9000) == header)
        state.refuse(now: 11_000)
        #expect(state.authorization(now: 11_000) == nil)
        #expect(state.next(now: 11_000) == .fetch)
    }
}

@Suite struct FCMTokenRequestTests {
    private func read(_ status: Int, _ body: String, date: String? = nil, now: Int64 = 1_796_032_800)
        -> FCMAccessToken.Fetched
    {
        FCMTokenRequest.read(status: status, body: Array(body.utf8), date: date, unixSeconds: now)
    }

    private func text(_ fetched: FCMAccessToken.Fetched) -> String? {
        if case .refused(let failure) = fetched { failure.text } else { nil }
    }

    @Test("The assertion says who asks, whom, for what, and for how long")
    func assertion() throws {
        let key = try SigningKey.generate(.rs256)
        var json = JSONWriter()
        json.beginObject()
        for (name, value) in [("project_id", "p"), ("client_email", "a@b"), ("private_key_id", "kid1")] {
            json.key(name)
            json.string(value)
        }
        json.key("private_key")
        json.string(try key.privatePEM())
        json.endObject()
        let account = try FCMServiceAccount(json: json.bytes)
        let body = String(decoding: try FCMTokenRequest.body(for: account, unixSeconds: 1000), as: UTF8.self)
        let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        try #require(body.hasPrefix(start))
        let token = try #require(SignedToken(Array(body.dropFirst(start.count).utf8)))
        #expect(token.isSigned(by: key))
        #expect(token.header.root["alg"]?.string == "RS256")
        #expect(token.header.root["typ"]?.string == "JWT")
        #expect(token.header.root["kid"]?.string == "kid1")
        #expect(token.claims.root["iss"]?.string == "a@b")
        #expect(token.claims.root["aud"]?.string == "https://oauth2.googleapis.com/token")
        #expect(token.claims.root["scope"]?.string == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(token.claims.root["iat"]?.integer == 1000)
        #expect(token.claims.root["exp"]?.integer == 4600)
    }

    @Test("A token is taken with its life")
    func tokens() {
        let body = #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#
        #expect(read(200, body) == .token(Array("ya29.x".utf8), expiresIn: 3599))
        #expect(read(200, #"{"access_token":"t","expires_in":"120"}"#) == .token(Array("t".utf8), expiresIn: 120))
        #expect(read(200, #"{"access_token":"t"}"#) == .token(Array("t".utf8), expiresIn: 300))
    }

    @Test(
        "An answer without a usable token is refused",
        arguments: [
            "", "<html>", "{}", #"{"access_token":7}"#, #"{"access_token":""}"#, #"{"access_token":"a\r\nb"}"#, "[]",
        ]
    )
    func unusable(body: String) {
        #expect(text(read(200, body))?.contains("without an access token") == true)
    }

    @Test(
        "A refusal says what to look at",
        arguments: [
            (
                #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#,
                "its key was deleted or does not"
            ),
            (
                #"{"error":"invalid_grant","error_description":"Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."}"#,
                "clock"
            ),
            (
                #"{"error":"invalid_grant","error_description":"Invalid grant: account not found"}"#,
                "the account was deleted"
            ),
            (#"{"error":"invalid_grant"}"#, "its key was deleted, the account is disabled, or this machine's clock"),
            (#"{"error":"invalid_scope"}"#, "(invalid_scope)"),
            (#"{"error":{"code":403,"message":"Denied","status":"PERMISSION_DENIED"}}"#, "PERMISSION_DENIED: Denied"),
            ("<html>", "HTTP 400"),
        ]
    )
    func refusals(body: String, cause: String) {
        #expect(text(read(400, body))?.contains(cause) == true, "\(read(400, body))")
    }

    @Test("A wrong clock is seen by the answer's date")
    func clock() {
        let body = #"{"error":"invalid_grant","error_description":"Invalid JWT"}"#
        let date = "Mon, 30 Nov 2026 10:00:00 GMT"
        #expect(
            text(read(400, body, date: date, now: 1_796_032_800 - 3700))?.contains("3700 seconds behind Google's")
                == true
        )
        #expect(
            text(read(400, body, date: date, now: 1_796_032_800 + 90))?.contains("90 seconds ahead of Google's") == true
        )
        #expect(text(read(400, body, date: date, now: 1_796_032_800))?.contains("seconds") == false)
    }

    @Test("What may pass is tried again", arguments: [408, 429, 500, 502, 503])
    func unavailable(status: Int) {
        if case .unavailable(let failure) = read(status, "<html>") {
            #expect(failure.reason == "HTTP \(status)")
        } else {
            Issue.record("\(status) was not taken as passing")
        }
    }

    @Test("A redirect is not followed, and said so")
    func redirect() {
        #expect(text(read(302, ""))?.contains("redirects are not followed") == true)
    }
}
