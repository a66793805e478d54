import Transport

/// Where traces are published: one channel for all, or one for each channel of messages.
///
/// The setting may contain `{channel}`. The worker never inspects messages of debug channels, or a trace
/// that quotes a message would be taken for a message.
package struct DebugChannel: Sendable, Equatable {
    private static let placeholder = Array("{channel}".utf8)

    private let prefix: [UInt8]
    /// Nil: the same channel for all messages.
    private let suffix: [UInt8]?

    /// From the setting's text.
    package init(_ setting: String) {
        let bytes = Array(setting.utf8)
        guard let place = Self.position(of: Self.placeholder, in: bytes) else {
            prefix = bytes
            suffix = nil
            return
        }
        prefix = Array(bytes[..<place])
        suffix = Array(bytes[(place + Self.placeholder.count)...])
    }

    /// The debug channel for messages of a channel.
    package func name(for channel: [UInt8]) -> [UInt8] {
        guard let suffix else { return prefix }
        return prefix + channel + suffix
    }

    /// Whether a channel is a debug channel.
    package func includes(_ channel: RawSpan) -> Bool {
        guard let suffix else { return channel.equals(prefix) }
        return channel.byteCount >= prefix.count + suffix.count
            && channel.extracting(first: prefix.count).equals(prefix)
            && channel.extracting(last: suffix.count).equals(suffix)
    }

    private static func position(of needle: [UInt8], in bytes: [UInt8]) -> Int? {
        guard bytes.count >= needle.count else { return nil }
        return (0...(bytes.count - needle.count)).first { bytes[$0..<($0 + needle.count)].elementsEqual(needle) }
    }
}
