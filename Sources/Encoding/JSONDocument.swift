/// A valid JSON text with its structure: bytes as they came, and where each value stands in them.
///
/// Nothing is decoded unless asked for. Immutable.
package final class JSONDocument: Sendable {
    package let bytes: [UInt8]
    let nodes: [JSONNode]

    /// Scans a text, and throws when it is not JSON (RFC 8259) to the letter.
    package init(_ bytes: [UInt8]) throws(JSONError) {
        self.bytes = bytes
        nodes = try unsafe JSONScanner.nodes(of: bytes.span.bytes)
    }

    package convenience init(_ text: String) throws(JSONError) {
        try self.init(Array(text.utf8))
    }

    package var root: JSONValue { JSONValue(document: self, index: 0) }
}

/// One value of a document.
package struct JSONValue: Sendable {
    package let document: JSONDocument
    /// The place of its node; the scanner's structure guarantees that it is there.
    let index: Int

    private var node: JSONNode { document.nodes[index] }

    package var kind: JSONKind { node.kind }
    package var isNull: Bool { kind == .null }
    package var isObject: Bool { kind == .object }
    package var isArray: Bool { kind == .array }
    package var isString: Bool { kind == .string }

    /// Where it stands in the document's bytes, with a text's quotes and an object's braces.
    package var range: Range<Int> { node.range }

    /// Its bytes as they stand in the document.
    package var text: ArraySlice<UInt8> { document.bytes[range] }

    /// The members of an object in their order, repeated names included; of any other value none.
    package var members: JSONMembers {
        JSONMembers(document: document, place: index + 1, end: isObject ? Int(node.next) : 0)
    }

    /// The elements of an array; of any other value none.
    package var elements: JSONElements {
        JSONElements(document: document, place: index + 1, end: isArray ? Int(node.next) : 0)
    }

    /// Whether an array or object holds nothing.
    package var isEmpty: Bool { Int(node.next) == index + 1 }

    /// The value of an object's last member of this name.
    package subscript(_ name: StaticString) -> JSONValue? {
        var found: JSONValue?
        for member in members where member.key.equals(name) { found = member.value }
        return found
    }

    /// The element of an array at a place.
    package subscript(_ position: Int) -> JSONValue? {
        elements.dropFirst(max(0, position)).first { _ in true }
    }

    /// Whether it is a text that says this, escapes resolved.
    package func equals(_ name: StaticString) -> Bool {
        let node = node
        return unsafe document.bytes.withUnsafeBytes { unsafe JSONString.equals(node, in: $0, name) }
    }

    /// What a text says as UTF-8, escapes resolved, half surrogate pairs as U+FFFD; nil of any other value.
    package var stringBytes: [UInt8]? {
        let node = node
        guard node.kind == .string else { return nil }
        let content = document.bytes[(node.range.lowerBound + 1)..<(node.range.upperBound - 1)]
        return node.hasEscapes ? JSONString.unescaped(content) : Array(content)
    }

    /// What a text says; nil of any other value.
    package var string: String? {
        let node = node
        guard node.kind == .string else { return nil }
        let content = document.bytes[(node.range.lowerBound + 1)..<(node.range.upperBound - 1)]
        return String(decoding: node.hasEscapes ? JSONString.unescaped(content)[...] : content, as: UTF8.self)
    }

    /// Whether a text has an escape that names half of a surrogate pair, so that it is no Unicode text.
    package var hasLoneSurrogate: Bool { node.hasLoneSurrogate }

    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A number spelled without fraction and exponent that fits 64 bits; nil of any other value.
    package var integer: Int64? {
        guard kind == .number else { return nil }
        return Int64(String(decoding: text, as: UTF8.self))
    }

    /// A number's nearest double, which may be infinite; nil of any other value.
    package var double: Double? {
        guard kind == .number else { return nil }
        return Double(String(decoding: text, as: UTF8.self))
    }
}

/// One member of an object.
package struct JSONMember: Sendable {
    package let key: JSONValue
    package let value: JSONValue

    /// From the key's first quote to the value's last byte.
    package var range: Range<Int> { key.range.lowerBound..<max(key.range.lowerBound, value.range.upperBound) }
}

/// Walks the members of an object.
package struct JSONMembers: Sequence, IteratorProtocol {
    fileprivate let document: JSONDocument
    fileprivate var place: Int
    fileprivate let end: Int

    package mutating func next() -> JSONMember? {
        guard place + 1 < end else { return nil }
        let member = JSONMember(
            key: JSONValue(document: document, index: place),
            value: JSONValue(document: document, index: place + 1)
        )
        place = Int(document.nodes[place + 1].next)
        return member
    }
}

/// Walks the elements of an array.
package struct JSONElements: Sequence, IteratorProtocol {
    fileprivate let document: JSONDocument
    fileprivate var place: Int
    fileprivate let end: Int

    package mutating func next() -> JSONValue? {
        guard place < end else { return nil }
        let element = JSONValue(document: document, index: place)
        place = Int(document.nodes[place].next)
        return element
    }
}
