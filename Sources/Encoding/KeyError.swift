/// Why a private key cannot be used, as the end of the sentence "the key … ".
package enum KeyError: Error, Equatable, Sendable, CustomStringConvertible {
    case empty
    /// Neither PEM nor base64.
    case notAKey
    /// PEM of another kind, with the words of its first line.
    case otherPEM(String)
    case encrypted
    /// It begins as PEM does, but does not end so, or holds no base64 between.
    case cutOff
    /// The armour is right, and OpenSSL does not read what is in it.
    case unreadable(String)
    /// A key for something else: what it is and what is needed.
    case wrongKind(found: String, needed: String)
    /// OpenSSL could not do its work.
    case library(String)

    package var description: String {
        switch self {
        case .empty: "is empty"
        case .notAKey: "is no private key: it is neither PEM (-----BEGIN PRIVATE KEY-----) nor base64 of that"
        case .otherPEM(let label): "is a \(label.lowercased()), not a private key"
        case .encrypted: "is encrypted; give it without a password"
        case .cutOff:
            "is not whole: a part between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- is missing"
        case .unreadable(let reason): "looks like a private key but cannot be read: \(reason)"
        case .wrongKind(let found, let needed): "is \(found), and must be \(needed)"
        case .library(let reason): "cannot be used: \(reason)"
        }
    }
}
