/// Decides, member by member, who of a registration set gets a push of a target.
///
/// A value type without I/O; one for each walk over a set.
package struct Recipients {
    package enum Decision: Equatable {
        /// Send to this token; `stored` is the set's member when it is spelled otherwise.
        case device(token: [UInt8], stored: [UInt8]?)
        /// Not a device token: it never reaches a request (`BadDeviceToken`).
        case unusable
        /// Left out, since the message excludes it.
        case excluded
        /// Met before.
        case repeated
    }

    /// Hashes of the tokens met since ``takeMet()``, as Redis keeps them.
    private var met: [UInt64] = []
    private let kind: RegistrationKind
    private let exclusions: Set<[UInt8]>
    private var seen = SeenTokens()

    /// `exclusions` are tokens as they are sent: for APNs in lower case.
    package init(kind: RegistrationKind, exclusions: Set<[UInt8]>) {
        self.kind = kind
        self.exclusions = exclusions
    }

    /// What to do with a member of the set.
    package mutating func decide(_ member: [UInt8]) -> Decision {
        guard kind.isUsableMember(member) else { return meet(member) ? .unusable : .repeated }
        let token = kind.tokenToSend(member)
        guard meet(token) else { return .repeated }
        if !exclusions.isEmpty, exclusions.contains(token) { return .excluded }
        return .device(token: token, stored: token == member ? nil : member)
    }

    /// Gives out the hashes of what was met since the last time, 8 bytes each.
    package mutating func takeMet() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(met.count * 8)
        for hash in met { bytes.append(littleEndian: hash) }
        met.removeAll(keepingCapacity: true)
        return bytes
    }

    /// Forgets the walk so far, but for what Redis knows of it.
    package mutating func restart(met hashes: [UInt8]) {
        met = []
        seen = SeenTokens(hashes: hashes)
    }

    private mutating func meet(_ token: [UInt8]) -> Bool {
        let hash = TokenHash.of(token)
        guard seen.insert(hash: hash) else { return false }
        met.append(hash)
        return true
    }
}
