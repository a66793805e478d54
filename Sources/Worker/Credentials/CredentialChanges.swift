/// What becomes of the routes when credentials were read again.
///
/// Pure. A credential that is still there keeps its routes; one that took another's place takes its routes over, so
/// that what waits there is sent with the new one; what is gone gets no more pushes.
package struct CredentialChanges: Equatable, Sendable {
    package enum Origin: Equatable, Sendable {
        /// The routes of the same credential.
        case same
        /// The routes of the credential with this fingerprint, which it replaces.
        case replaces(String)
        /// None yet.
        case new
    }

    /// Where the routes of each new credential come from, by its fingerprint.
    package private(set) var origins: [String: Origin] = [:]
    /// The fingerprints of credentials that are gone, and that nothing replaces.
    package private(set) var gone: Set<String>

    package init(from old: [Credential], to new: [Credential]) {
        gone = Set(old.map(\.fingerprint))
        for credential in new where gone.remove(credential.fingerprint) != nil {
            origins[credential.fingerprint] = .same
        }
        for credential in new where origins[credential.fingerprint] == nil {
            let former = old.first { gone.contains($0.fingerprint) && $0.isPredecessor(of: credential) }
            origins[credential.fingerprint] = former.map { .replaces($0.fingerprint) } ?? .new
            if let former { gone.remove(former.fingerprint) }
        }
    }
}

extension Credential {
    /// Whether the other is of the same kind and was set at the same place.
    fileprivate func isPredecessor(of other: Credential) -> Bool {
        guard origin == other.origin else { return false }
        return switch (kind, other.kind) {
        case (.apnsKey, .apnsKey), (.apnsCertificate, .apnsCertificate), (.fcm, .fcm): true
        default: false
        }
    }
}
