import Testing
import Transport
import Worker

@Suite("A credential that its provider refuses")
struct CredentialHealthTests {
    private let start = LoopInstant(nanoseconds: 1_000_000_000_000)

    @Test("It is named once, stopped after ten refusals, and probed every five seconds")
    func stops() {
        var health = CredentialHealth()
        var told: [Bool] = []
        for _ in 0..<9 { told.append(health.refuse("InvalidProviderToken", now: start)) }
        #expect(told == [true] + [Bool](repeating: false, count: 8))
        #expect(!health.isStopped && health.maySend(now: start))
        #expect(health.refuse("BadCertificate", now: start) == true)
        #expect(health.isStopped && health.reason == "BadCertificate")
        #expect(health.maySend(now: start + .milliseconds(4999)) == false)
        #expect(health.maySend(now: start + .seconds(5)) == true)
        #expect(health.maySend(now: start + .seconds(5)) == false)
        #expect(health.maySend(now: start + .seconds(10)) == true)
    }

    @Test("An accepted push begins anew")
    func recovers() {
        var health = CredentialHealth()
        #expect(health.accept() == false)
        for _ in 0..<20 { _ = health.refuse("Forbidden", now: start) }
        #expect(health.accept() == true)
        #expect(!health.isStopped && health.reason == nil && health.maySend(now: start))
    }

    @Test("The last words of a connection stop it at once")
    func goodbye() {
        var health = CredentialHealth()
        #expect(health.stop("BadCertificate", now: start) == true)
        #expect(health.stop("BadCertificate", now: start) == false)
        #expect(health.maySend(now: start) == false)
    }
}
