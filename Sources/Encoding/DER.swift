/// One element of DER: kind, length, content (X.690 section 8.1).
package struct DER: Equatable, Sendable {
    package static let sequence: UInt8 = 0x30
    package static let utf8String: UInt8 = 0x0C
    package static let printableString: UInt8 = 0x13
    package static let ia5String: UInt8 = 0x16

    /// The identifier octet.
    package let kind: UInt8
    package let content: ArraySlice<UInt8>

    /// Takes the first element off the bytes; nil, and nothing is taken, when there is no whole one.
    package init?(takenFrom bytes: inout ArraySlice<UInt8>) {
        var rest = bytes
        guard let kind = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            let digits = Int(first & 0x7F)
            guard (1...4).contains(digits), rest.count >= digits else { return nil }
            count = rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(digits)
        }
        guard rest.count >= count else { return nil }
        self.kind = kind
        content = rest.prefix(count)
        bytes = rest.dropFirst(count)
    }

    /// The bytes of an element with less than 64 KB.
    package static func encode(_ kind: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [kind, UInt8(count)] + content }
        return [kind, 0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)] + content
    }
}
