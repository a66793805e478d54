/// The nodes of a valid JSON text, apart from its bytes.
///
/// For a look at bytes that are only borrowed; ``JSONDocument`` keeps both together.
package struct JSONTape: Sendable {
    /// In the order of the text; the first is the root.
    package let nodes: [JSONNode]

    /// Scans a text, and throws when it is not JSON (RFC 8259) to the letter.
    package init(_ bytes: RawSpan) throws(JSONError) {
        nodes = try JSONScanner.nodes(of: bytes)
    }

    /// Whether the root is an object.
    package var isObject: Bool { nodes.first?.kind == .object }

    /// Whether the root is an object with a member of this name; `bytes` are those that were scanned.
    package func hasMember(_ name: StaticString, in bytes: RawSpan) -> Bool {
        guard let root = nodes.first, root.kind == .object else { return false }
        return unsafe bytes.withUnsafeBytes { buffer in
            var index = 1
            while index &+ 1 < nodes.count {
                if unsafe JSONString.equals(nodes[index], in: buffer, name) { return true }
                index = Int(nodes[index &+ 1].next)
            }
            return false
        }
    }
}
