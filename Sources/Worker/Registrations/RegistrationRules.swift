import Encoding

/// Why something may not be registered: a sentence for people, without a full stop.
package struct RegistrationRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension RegistrationKind {
    /// The kind for an environment and a topic as people write them.
    package static func apns(environment: String, topic: String) throws(RegistrationRefusal) -> RegistrationKind {
        let name = environment.lowercased()
        // `sandbox` is what Apple's host for development is called.
        guard let known = APNsEnvironment(rawValue: name == "sandbox" ? "development" : name) else {
            let shown = Printable.value(environment)
            throw RegistrationRefusal("the environment is \"\(shown)\", and may be development or production")
        }
        guard isTopic(topic) else {
            throw RegistrationRefusal(
                "the topic is \"\(Printable.value(topic))\", and may be a bundle ID of 1 to 255 letters, digits, dots, "
                    + "hyphens and underscores"
            )
        }
        return .apns(environment: known, topic: topic)
    }

    /// Whether a text can be an APNs topic.
    package static func isTopic(_ topic: String) -> Bool {
        (1...255).contains(topic.utf8.count)
            && topic.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
                case UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
            }
    }

    /// The token as it is registered: an APNs token in lower case.
    package func token(_ text: String) throws(RegistrationRefusal) -> [UInt8] {
        let bytes = Array(text.utf8)
        if let fault = isAPNs ? Self.faultOfAPNs(bytes) : Self.faultOfFCM(bytes) { throw RegistrationRefusal(fault) }
        return tokenToSend(bytes)
    }

    private static func faultOfAPNs(_ bytes: [UInt8]) -> String? {
        if bytes.isEmpty { return "the APNs token is empty" }
        if let place = bytes.firstIndex(where: { !isUsable($0) }) {
            let character = String(decoding: bytes[place...], as: UTF8.self).prefix(1)
            let hint = bytes.contains(UInt8(ascii: ":")) ? "; an FCM token is registered with --fcm" : ""
            return "the APNs token has \"\(Printable.value(String(character)))\" at place \(place + 1), "
                + "and may have hexadecimal digits only\(hint)"
        }
        if bytes.count % 2 != 0 {
            return "the APNs token has \(bytes.count) hexadecimal digits, an odd number: a part of it is missing"
        }
        guard bytes.count > maximumAPNsDigits else { return nil }
        return "the APNs token has \(bytes.count) hexadecimal digits, and may have \(maximumAPNsDigits) at most"
    }

    /// Whether a byte is a hexadecimal digit.
    private static func isUsable(_ byte: UInt8) -> Bool {
        RegistrationKind.apnsLegacy.isUsableMember([byte, byte])
    }

    private static func faultOfFCM(_ bytes: [UInt8]) -> String? {
        if bytes.isEmpty { return "the FCM token is empty" }
        if bytes.count > maximumFCMBytes {
            return "the FCM token has \(bytes.count) bytes, and may have \(maximumFCMBytes) at most"
        }
        return RegistrationKind.fcm.isUsableMember(bytes) ? nil : "the FCM token has control characters"
    }
}

extension RegistrationKind {
    /// The kind that a key's end means, from the colon on; nil if it means none.
    init?(keySuffix: [UInt8]) {
        switch keySuffix {
        case Self.apnsLegacy.keySuffix: self = .apnsLegacy
        case Self.fcm.keySuffix: self = .fcm
        default:
            let parts = String(decoding: keySuffix, as: UTF8.self)
                .split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false)
            guard parts.count == 4, parts[0].isEmpty, parts[1] == "apns",
                let environment = APNsEnvironment(rawValue: String(parts[2])), Self.isTopic(String(parts[3]))
            else { return nil }
            self = .apns(environment: environment, topic: String(parts[3]))
        }
    }

    package var gateway: Gateway { isAPNs ? .apns : .fcm }

    /// `apns production com.example.app`, `apns` or `fcm`.
    package var label: String {
        guard case .apns(let environment, let topic) = self else { return gateway.rawValue }
        return "apns \(environment.rawValue) \(topic)"
    }
}

extension RegistrationKind: Comparable {
    package static func < (left: RegistrationKind, right: RegistrationKind) -> Bool {
        left.label < right.label
    }
}
