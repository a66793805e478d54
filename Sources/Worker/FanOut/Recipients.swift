/// Decides, member by member, who of a registration set gets a push of a target.
///
/// A value type without I/O; one for each target of a message.
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
        guard kind.isUsableMember(member) else {
            return seen.insert(member) ? .unusable : .repeated
        }
        let token = kind.tokenToSend(member)
        guard seen.insert(token) else { return .repeated }
        if !exclusions.isEmpty, exclusions.contains(token) { return .excluded }
        return .device(token: token, stored: token == member ? nil : member)
    }
}
