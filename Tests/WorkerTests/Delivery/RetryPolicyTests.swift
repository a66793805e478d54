import Testing
import Worker

@Suite struct RetryPolicyTests {
    private struct Case: Sendable, CustomTestStringConvertible {
        let gateway: Gateway
        let status: Int?
        let attempt: Int
        var retryAfter: Duration?
        /// Milliseconds at the ends of chance.
        let shortest: Int64
        let longest: Int64

        var testDescription: String { "\(gateway) \(status.map(String.init) ?? "lost") attempt \(attempt)" }
    }

    private func delay(_ policyCase: Case, random: Double, timeLeft: Duration = .seconds(1_000_000)) -> Duration? {
        RetryPolicy(random: { random }).delay(
            afterAttempt: policyCase.attempt,
            gateway: policyCase.gateway,
            status: policyCase.status,
            retryAfter: policyCase.retryAfter,
            timeLeft: timeLeft
        )
    }

    @Test(
        "Waits lie in the range that each provider asks for",
        arguments: [
            Case(gateway: .apns, status: 429, attempt: 1, shortest: 1000, longest: 2000),
            Case(gateway: .apns, status: 429, attempt: 4, shortest: 8000, longest: 16_000),
            Case(gateway: .apns, status: 429, attempt: 60, shortest: 900_000, longest: 1_800_000),
            Case(gateway: .apns, status: 429, attempt: 1, retryAfter: .seconds(30), shortest: 30_000, longest: 33_000),
            Case(gateway: .apns, status: 500, attempt: 1, shortest: 1000, longest: 5000),
            Case(gateway: .apns, status: 503, attempt: 2, shortest: 900_000, longest: 1_080_000),
            Case(gateway: .apns, status: 503, attempt: 3, shortest: 900_000, longest: 1_080_000),
            Case(gateway: .apns, status: 503, attempt: 9, shortest: 900_000, longest: 1_080_000),
            Case(gateway: .apns, status: nil, attempt: 1, shortest: 50, longest: 500),
            Case(gateway: .apns, status: nil, attempt: 3, shortest: 50, longest: 2000),
            Case(gateway: .apns, status: nil, attempt: .max, shortest: 50, longest: 60_000),
            Case(gateway: .apns, status: 400, attempt: 1, retryAfter: .zero, shortest: 50, longest: 500),
            Case(gateway: .fcm, status: 429, attempt: 1, shortest: 60_000, longest: 120_000),
            Case(gateway: .fcm, status: 429, attempt: 2, shortest: 120_000, longest: 240_000),
            Case(gateway: .fcm, status: 429, attempt: 1, retryAfter: .seconds(5), shortest: 5000, longest: 6000),
            Case(gateway: .fcm, status: 429, attempt: 1, retryAfter: .zero, shortest: 500, longest: 1000),
            Case(gateway: .fcm, status: 500, attempt: 1, shortest: 10_000, longest: 20_000),
            Case(gateway: .fcm, status: 503, attempt: 3, shortest: 40_000, longest: 80_000),
            Case(gateway: .fcm, status: 503, attempt: 1, retryAfter: .seconds(1), shortest: 10_000, longest: 20_000),
            Case(
                gateway: .fcm,
                status: 503,
                attempt: 1,
                retryAfter: .seconds(300),
                shortest: 300_000,
                longest: 330_000
            ),
            Case(gateway: .fcm, status: nil, attempt: 2, shortest: 50, longest: 1000),
        ]
    )
    private func ranges(policyCase: Case) {
        #expect(delay(policyCase, random: 0) == .milliseconds(policyCase.shortest))
        #expect(delay(policyCase, random: 1) == .milliseconds(policyCase.longest))
        let middle = delay(policyCase, random: 0.5) ?? .zero
        #expect(middle >= .milliseconds(policyCase.shortest) && middle <= .milliseconds(policyCase.longest))
    }

    @Test("A retry that would come too late is none")
    func givesUp() {
        let lost = Case(gateway: .apns, status: nil, attempt: 1, shortest: 0, longest: 0)
        #expect(delay(lost, random: 1, timeLeft: .milliseconds(501)) == .milliseconds(500))
        #expect(delay(lost, random: 1, timeLeft: .milliseconds(500)) == nil)
        #expect(delay(lost, random: 0, timeLeft: .zero) == nil)
        #expect(delay(lost, random: 0, timeLeft: .seconds(-5)) == nil)
        let asked = Case(gateway: .fcm, status: 429, attempt: 1, retryAfter: .seconds(1 << 60), shortest: 0, longest: 0)
        #expect(delay(asked, random: 1, timeLeft: .seconds(86_400)) == nil)
    }

    @Test(
        "A project that sends too much is spared as long as Google asks for, or a minute",
        arguments: [
            (nil, 60_000, 120_000), (.seconds(5), 5000, 6000), (.seconds(90), 90_000, 99_000),
            (.seconds(86_400), 3_600_000, 3_600_000),
        ] as [(Duration?, Int64, Int64)]
    )
    func projectPause(asked: Duration?, shortest: Int64, longest: Int64) {
        #expect(RetryPolicy(random: { 0 }).projectPause(asked: asked) == .milliseconds(shortest))
        #expect(RetryPolicy(random: { 1 }).projectPause(asked: asked) == .milliseconds(longest))
    }

    @Test(
        "What must not be sent for a while comes back after it, and not all at once",
        arguments: [
            (1000, 1000, 1500), (60_000, 60_000, 90_000), (100, 100, 300),
        ] as [(Int64, Int64, Int64)]
    )
    func postponement(pause: Int64, shortest: Int64, longest: Int64) {
        let left = Duration.milliseconds(longest + 1)
        for (random, delay) in [(0.0, shortest), (1.0, longest)] {
            let policy = RetryPolicy(random: { random })
            #expect(policy.postponement(for: .milliseconds(pause), timeLeft: left) == .milliseconds(delay))
            #expect(policy.postponement(for: .milliseconds(pause), timeLeft: .milliseconds(delay)) == nil)
        }
    }
}
