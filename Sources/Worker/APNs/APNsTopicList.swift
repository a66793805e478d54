import Encoding

/// The topics in a push certificate.
///
/// The extension's value is a sequence in which the name of each topic is followed by a sequence with its kind: `app`,
/// `voip`, `complication`. Pure; anything else than that is no topic.
package enum APNsTopicList {
    private static let texts: Set<UInt8> = [DER.utf8String, DER.printableString, DER.ia5String]
    /// More than Apple lists.
    private static let maximumCount = 1000

    /// The topics in an extension's value.
    package static func read(_ der: [UInt8]) -> [String] {
        var outer = der[...]
        guard let list = DER(takenFrom: &outer), list.kind == DER.sequence else { return [] }
        var rest = list.content
        var topics: [String] = []
        while let next = DER(takenFrom: &rest), topics.count < maximumCount {
            guard texts.contains(next.kind) else { continue }
            let topic = String(decoding: next.content, as: UTF8.self)
            if isTopic(topic), !topics.contains(topic) { topics.append(topic) }
        }
        return topics
    }

    /// Whether it can be a topic: what goes into the header `apns-topic`.
    package static func isTopic(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    }
}
