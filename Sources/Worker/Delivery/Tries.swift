/// How far a push has come: what its earlier attempts ended with, each kind counted for itself.
///
/// A value type; small, since each waiting push has one, also in Redis. Counts stand still at 255.
package struct Tries: Equatable, Sendable {
    /// What an attempt ended with, as far as it decides on the wait after it.
    package enum Kind: Sendable {
        /// No answer, or one that asks for another connection.
        case lost
        /// Too many requests.
        case limited
        /// The provider has a fault of its own.
        case server

        /// `status` is nil when there was no answer.
        package init(status: Int?) {
            switch status {
            case 429?: self = .limited
            case (500...599)?: self = .server
            default: self = .lost
            }
        }
    }

    package var lost: UInt8 = 0
    package var limited: UInt8 = 0
    package var server: UInt8 = 0
    /// How often it could not be sent, or was sent again since the provider had not processed it: no attempts.
    package var resends: UInt8 = 0
    /// Whether it has made its one attempt with a renewed credential or connection.
    package var isRenewed = false

    package init() {}

    /// The number of the attempt that is next, or under way; 1 is the first.
    package var attempt: Int { 1 + Int(lost) + Int(limited) + Int(server) }

    /// Counts an attempt that ended so, and answers how many of this kind there were.
    package mutating func count(_ kind: Kind) -> Int {
        switch kind {
        case .lost: Self.raise(&lost)
        case .limited: Self.raise(&limited)
        case .server: Self.raise(&server)
        }
    }

    /// Counts a resend, and answers how many there were.
    @discardableResult
    package mutating func countResend() -> Int { Self.raise(&resends) }

    private static func raise(_ count: inout UInt8) -> Int {
        if count < .max { count += 1 }
        return Int(count)
    }
}
