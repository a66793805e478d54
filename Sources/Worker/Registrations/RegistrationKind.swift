/// What a device is registered for on a channel: the registry that its token stands in.
package enum RegistrationKind: Hashable, Sendable {
    case apns(environment: APNsEnvironment, topic: String)
    /// APNs without a topic: the legacy form.
    case apnsLegacy
    case fcm

    /// What the kind's keys end with, from the colon on.
    package var keySuffix: [UInt8] {
        switch self {
        case .apns(let environment, let topic): Array(":apns:\(environment.rawValue):\(topic)".utf8)
        case .apnsLegacy: Array(":apns".utf8)
        case .fcm: Array(":fcm".utf8)
        }
    }

    package var isAPNs: Bool { self != .fcm }

    /// The longest APNs token that is taken, in hexadecimal digits.
    package static let maximumAPNsDigits = 200
    /// The longest FCM token that is taken, in bytes.
    package static let maximumFCMBytes = 4096

    /// Whether a member of the set can be a token of this kind; what cannot never reaches a request.
    package func isUsableMember(_ member: [UInt8]) -> Bool {
        guard isAPNs else { return Self.isUsableFCM(member) }
        return (1...Self.maximumAPNsDigits).contains(member.count) && member.count % 2 == 0
            && member.allSatisfy(Self.isHexadecimal)
    }

    /// The token as it is sent: an APNs token in lower case, an FCM token unchanged.
    package func tokenToSend(_ member: [UInt8]) -> [UInt8] {
        guard isAPNs, member.contains(where: Self.isUpperCase) else { return member }
        return member.map { Self.isUpperCase($0) ? $0 + 32 : $0 }
    }

    /// A JSON text takes UTF-8 only: other bytes would reach FCM as another token.
    private static func isUsableFCM(_ member: [UInt8]) -> Bool {
        guard (1...maximumFCMBytes).contains(member.count), !member.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return false
        }
        guard member.contains(where: { $0 >= 0x80 }) else { return true }
        guard let text = String(validating: member, as: UTF8.self) else { return false }
        return !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        case UInt8(ascii: "A")...UInt8(ascii: "F"): true
        default: false
        }
    }

    private static func isUpperCase(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}

extension Target {
    /// The registry that the target's devices stand in.
    package var registrationKind: RegistrationKind {
        guard gateway == .apns, let environment else { return .fcm }
        guard !isLegacyForm, let topic else { return .apnsLegacy }
        return .apns(environment: environment, topic: topic)
    }
}
