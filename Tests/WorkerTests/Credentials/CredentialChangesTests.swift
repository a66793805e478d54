import Testing
import Worker

@Suite struct CredentialChangesTests {
    private func key(_ name: String, at origin: String) throws -> Credential {
        Credential(try CredentialSamples.key(name), origin: origin)
    }

    @Test("What is still there keeps its routes, wherever it stands now")
    func same() throws {
        let old = [try key("A", at: "1"), try key("B", at: "2")]
        let new = [try key("B", at: "1"), try key("A", at: "2")]
        let changes = CredentialChanges(from: old, to: new)
        #expect(changes.origins == [new[0].fingerprint: .same, new[1].fingerprint: .same])
        #expect(changes.gone.isEmpty)
    }

    @Test("A new one at the same place takes over, one of another kind does not")
    func replaced() throws {
        let old = [try key("A", at: "1"), try key("B", at: "2")]
        let project = Credential(try CredentialSamples.project("p"), origin: "2")
        let new = [try key("C", at: "1"), project]
        let changes = CredentialChanges(from: old, to: new)
        #expect(
            changes.origins == [new[0].fingerprint: .replaces(old[0].fingerprint), project.fingerprint: .new]
        )
        #expect(changes.gone == [old[1].fingerprint])
    }

    @Test("Nothing is taken over twice")
    func once() throws {
        let old = [try key("A", at: "1")]
        let new = [try key("B", at: "1"), try key("C", at: "1"), try key("B", at: "2")]
        let changes = CredentialChanges(from: old, to: new)
        #expect(
            changes.origins == [new[0].fingerprint: .replaces(old[0].fingerprint), new[1].fingerprint: .new]
        )
        #expect(changes.gone.isEmpty)
    }

    @Test("From nothing, and to nothing")
    func empty() throws {
        let one = try key("A", at: "1")
        #expect(CredentialChanges(from: [], to: [one]).origins == [one.fingerprint: .new])
        #expect(CredentialChanges(from: [one], to: []).gone == [one.fingerprint])
    }

    @Test("A fingerprint tells secrets apart and shows none")
    func fingerprints() throws {
        let all = [
            try CredentialSamples.key("A"), try CredentialSamples.key("B"), try CredentialSamples.key("A", team: "T"),
            try CredentialSamples.project("A"), try CredentialSamples.certificate(topics: ["A"]),
            try CredentialSamples.certificate(topics: ["A"]),
        ].map { Credential($0, origin: "").fingerprint }
        #expect(Set(all).count == all.count)
        #expect(all.allSatisfy { $0.utf8.count == 64 })
    }
}
