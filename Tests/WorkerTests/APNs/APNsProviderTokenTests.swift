import Encoding
import Testing
import Worker

@Suite struct APNsProviderTokenTests {
    /// 2026-11-30 10:00:00 UTC.
    private static let start: Int64 = 1_796_032_800
    private let credential: APNsCredential

    init() throws {
        credential = APNsCredential(key: try SigningKey.generate(.es256), keyID: "ABCDE12345", teamID: "TEAM567890")
    }

    private func issuedAt(_ header: [UInt8]) throws -> Int64 {
        let text = String(decoding: header, as: UTF8.self)
        try #require(text.hasPrefix("bearer "))
        let token = try #require(SignedToken(header.dropFirst("bearer ".utf8.count)))
        #expect(token.isSigned(by: credential.key))
        #expect(token.header.root["alg"]?.string == "ES256")
        #expect(token.header.root["kid"]?.string == "ABCDE12345")
        #expect(token.claims.root["iss"]?.string == "TEAM567890")
        return try #require(token.claims.root["iat"]?.integer)
    }

    @Test("Over a day the token is never of the future, never older than 50 minutes, and changes at most every 20")
    func age() throws {
        let token = APNsProviderToken(credential, now: Self.start * 1000)
        var last = token.authorization(now: Self.start * 1000)
        var lastIssue = try issuedAt(last)
        var lastChange = Int64.min
        var changes = 0
        for second in stride(from: Self.start, to: Self.start + 86_400, by: 7) {
            let header = token.authorization(now: second * 1000 + 999)
            if header != last {
                if lastChange != .min { #expect(second - lastChange >= 20 * 60) }
                lastIssue = try issuedAt(header)
                (last, lastChange) = (header, second)
                changes += 1
            }
            #expect((1...50 * 60).contains(second - lastIssue))
        }
        #expect((24...36).contains(changes))
    }

    @Test("Replicas that start at different times use the same time of issue")
    func replicas() throws {
        for offset in stride(from: Int64(0), to: 7200, by: 613) {
            let now = (Self.start + offset) * 1000
            let early = APNsProviderToken(credential, now: Self.start * 1000)
            let late = APNsProviderToken(credential, now: now)
            #expect(try issuedAt(early.authorization(now: now)) == issuedAt(late.authorization(now: now)))
        }
    }

    @Test("Within its time a token is the same bytes, since APNs minds changes")
    func isStable() throws {
        let token = APNsProviderToken(credential, now: Self.start * 1000)
        let header = token.authorization(now: Self.start * 1000)
        #expect(token.authorization(now: Self.start * 1000 + 1) == header)
        let again = APNsProviderToken(credential, now: Self.start * 1000)
        #expect(try issuedAt(again.authorization(now: Self.start * 1000)) == issuedAt(header))
    }

    @Test("A clock that is set back a little keeps the token, a lot makes one that is not of the future")
    func clockSetBack() throws {
        let step = APNsProviderToken.issueTime(seconds: Self.start) + APNsProviderToken.gridSeconds
        let after = (step + APNsProviderToken.lagSeconds) * 1000
        let token = APNsProviderToken(credential, now: after)
        let header = token.authorization(now: after)
        #expect(try issuedAt(header) == step)
        #expect(token.authorization(now: after - 30_000) == header)
        let yesterday = after - 86_400_000
        let older = try issuedAt(token.authorization(now: yesterday))
        #expect(older <= yesterday / 1000 && yesterday / 1000 - older <= 50 * 60)
        // And forward again.
        #expect(try issuedAt(token.authorization(now: after)) == step)
    }

    @Test("APNs' refusal makes a new token once, and not within 20 minutes of the last")
    func refresh() throws {
        let step = APNsProviderToken.issueTime(seconds: Self.start)
        let token = APNsProviderToken(credential, now: Self.start * 1000)
        let early = (step + 19 * 60) * 1000
        #expect(token.refresh(now: early) == .impossible)
        let late = (step + 21 * 60) * 1000
        let old = token.authorization(now: late)
        #expect(token.refresh(now: late) == .renewed)
        let new = token.authorization(now: late)
        #expect(new != old)
        #expect(try issuedAt(new) == late / 1000)
        // Requests with the old token that were on their way.
        #expect(token.refresh(now: late + 2000) == .underway)
        #expect(token.authorization(now: late + 2000) == new)
        #expect(token.refresh(now: late + 61_000) == .impossible)
        // Back on the grid with the others.
        let next = (step + APNsProviderToken.gridSeconds + APNsProviderToken.lagSeconds) * 1000
        #expect(try issuedAt(token.authorization(now: next)) == step + APNsProviderToken.gridSeconds)
    }

    @Test("Whenever APNs refuses one, the next are 20 minutes apart and never too old", arguments: 1...50)
    func refreshAnytime(minute: Int64) throws {
        let step = APNsProviderToken.issueTime(seconds: Self.start)
        let token = APNsProviderToken(credential, now: (step + 60) * 1000)
        var issues: [Int64] = []
        for second in stride(from: step + 60, to: step + 4 * 3600, by: 30) {
            if second == step + minute * 60 + 30 { _ = token.refresh(now: second * 1000) }
            let issue = try issuedAt(token.authorization(now: second * 1000))
            #expect((0...55 * 60).contains(second - issue))
            if issue != issues.last { issues.append(issue) }
        }
        for (former, next) in zip(issues, issues.dropFirst()) { #expect(next - former >= 20 * 60) }
        // Back on the grid with the others.
        #expect(try #require(issues.last) == APNsProviderToken.issueTime(seconds: step + 4 * 3600 - 30))
    }

    @Test(
        "Times before 1970 and at the end of the range do not trap",
        arguments: [0, -1, -86_400_000, 253_402_300_799_999]
    )
    func extremes(now: Int64) throws {
        let token = APNsProviderToken(credential, now: now)
        #expect(try issuedAt(token.authorization(now: now)) <= now / 1000)
    }
}
