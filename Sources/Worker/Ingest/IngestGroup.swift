import Encoding

/// Replicas that hear the same, since their patterns are the same.
///
/// A group has names, counts and a lease of its own.
package struct IngestGroup: Equatable, Sendable {
    /// What distinguishes it in Redis: 8 hex digits.
    package let hash: String
    /// The patterns with commas between, for people.
    package let patterns: String

    /// Order and repetition of the patterns make no difference to what is heard.
    package init(patterns: [String]) {
        let names = Set(patterns).sorted()
        self.patterns = names.joined(separator: ",")
        hash = Digest.hexadecimal(Digest.sha256(Array(names.joined(separator: "\u{0}").utf8)).prefix(4))
    }

    /// The name of a stretch's field in Redis.
    func field(_ stretch: StretchID) -> [UInt8] {
        Array("\(stretch):\(hash)".utf8)
    }
}
