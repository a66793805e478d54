/// Names a stretch of what all subscribers of one Redis hear: by the mark that it begins with.
///
/// The number is the server's clock in unix milliseconds when the mark was published, or one more than the last. The
/// suffix is chosen at random, so that an id does not come again after a crash that made the server forget the last.
package struct StretchID: Hashable, Sendable, CustomStringConvertible {
    package let number: Int64
    package let suffix: UInt32

    package init(number: Int64, suffix: UInt32) {
        self.number = number
        self.suffix = suffix
    }

    /// Reads `<number>-<suffix>`.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), number > 0, let suffix = UInt32(parts[1]) else {
            return nil
        }
        self.init(number: number, suffix: suffix)
    }

    package var description: String { "\(number)-\(suffix)" }

    /// The id of one of its messages, in the form of a stream's entry id.
    ///
    /// It follows from the name alone, so that it is the same whoever writes the message, and how often.
    package func messageID(_ number: Int) -> String {
        "\(self.number)-\(UInt64(suffix) << 32 | UInt64(truncatingIfNeeded: number) & 0xFFFF_FFFF)"
    }
}

/// What is published on the control channel: a stretch begins here, and perhaps the lease is free.
package struct Mark: Equatable, Sendable {
    package let stretch: StretchID
    /// Who held the lease has given it up.
    package let isLeaseFree: Bool

    /// Reads `<number>-<suffix>` or `<number>-<suffix> free`.
    package init?(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard let first = words.first, let stretch = StretchID(first) else { return nil }
        self.stretch = stretch
        isLeaseFree = words.count == 2 && words[1] == "free"
    }
}
