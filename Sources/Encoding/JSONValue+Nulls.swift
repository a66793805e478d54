extension JSONValue {
    /// Whether a null stands anywhere in it.
    package var containsNull: Bool {
        let nodes = document.nodes
        return (index..<Int(nodes[index].next)).contains { nodes[$0].kind == .null }
    }

    /// Appends its text without the object members whose value is null, at every depth; the rest is byte for byte.
    ///
    /// Elements of arrays stay. Walks with a stack of its own, so that no nesting ends the thread's.
    package func appendWithoutNullMembers(to bytes: inout [UInt8]) {
        guard containsNull else {
            bytes.append(contentsOf: text)
            return
        }
        var open: [OpenContainer] = []
        var place = index
        repeat {
            append(&place, open: &open, to: &bytes)
            while let last = open.last, place >= last.end {
                bytes.append(last.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                open.removeLast()
            }
        } while !open.isEmpty
    }

    /// Appends the value or member at a place, or of an array or object its opening bracket, and goes behind it.
    private func append(_ place: inout Int, open: inout [OpenContainer], to bytes: inout [UInt8]) {
        let nodes = document.nodes
        if let last = open.last {
            if last.isObject {
                guard nodes[place + 1].kind != .null else {
                    place += 2
                    return
                }
            }
            if !last.isEmpty { bytes.append(UInt8(ascii: ",")) }
            open[open.count - 1].isEmpty = false
            if last.isObject {
                bytes.append(contentsOf: document.bytes[nodes[place].range])
                bytes.append(UInt8(ascii: ":"))
                place += 1
            }
        }
        let node = nodes[place]
        guard node.kind == .object || node.kind == .array, Int(node.next) > place + 1 else {
            bytes.append(contentsOf: document.bytes[node.range])
            place = Int(node.next)
            return
        }
        bytes.append(node.kind == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
        open.append(OpenContainer(end: Int(node.next), isObject: node.kind == .object))
        place += 1
    }

    private struct OpenContainer {
        let end: Int
        let isObject: Bool
        var isEmpty = true
    }
}
