/// What a push type asks of a request (Apple: Sending notification requests to APNs, apns-push-type).
package struct PushType: Equatable, Hashable, Sendable {
    package static let alert = PushType(name: "alert")
    package static let background = PushType(name: "background")

    /// As it goes into `apns-push-type`.
    package let name: String

    package init(name: String) {
        self.name = name
    }

    /// Every type that Apple has, with what the topic must end in.
    private static let suffixes: [String: String] = [
        "alert": "",
        "background": "",
        "voip": ".voip",
        "complication": ".complication",
        "fileprovider": ".pushkit.fileprovider",
        "mdm": "",
        "liveactivity": ".push-type.liveactivity",
        "location": ".location-query",
        "pushtotalk": ".voip-ptt",
        "widgets": ".push-type.widgets",
        "controls": ".push-type.controls",
    ]

    /// Whether Apple has this type today.
    package var isKnown: Bool { Self.suffixes[name] != nil }

    /// What the topic must end in.
    var topicSuffix: String {
        // The two that nearly all messages have need no look-up.
        self == .alert || self == .background ? "" : Self.suffixes[name] ?? ""
    }

    /// The largest body that Apple takes.
    var maximumPayloadBytes: Int { name == "voip" ? 5120 : 4096 }

    /// What `apns-priority` is without a word from the publisher.
    var defaultPriority: Int { self == .background ? 5 : 10 }

    /// Whether Apple takes this priority for the type: 10 is an error for `background`, and Live Activities and
    /// location queries know 5 and 10 only.
    func allows(priority: Int64) -> Bool {
        switch name {
        case "background": priority == 5
        case "liveactivity", "location": priority == 5 || priority == 10
        default: priority == 1 || priority == 5 || priority == 10
        }
    }

    /// Whether the name can be sent at all: `[a-z-]{1,64}`.
    var isWellFormed: Bool {
        let bytes = name.utf8
        return (1...64).contains(bytes.count)
            && bytes.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
