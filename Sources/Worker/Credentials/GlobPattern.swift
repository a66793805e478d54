/// A pattern as Redis has them for channels: `*`, `?`, `[abc]`, `[^a-z]`, and `\` before what is meant as it is.
///
/// Compares bytes, in time that grows with pattern times text at most. (Redis: PSUBSCRIBE, KEYS.)
package struct GlobPattern: Hashable, Sendable, CustomStringConvertible {
    private enum Element: Hashable, Sendable {
        case byte(UInt8)
        case any
        /// Any number of bytes.
        case run
        case oneOf([ClosedRange<UInt8>], isInverted: Bool)
    }

    package let description: String
    private let elements: [Element]

    package init(_ text: String) {
        description = text
        elements = Self.elements(Array(text.utf8))
    }

    /// Whether only one text fits.
    package var isExact: Bool {
        elements.allSatisfy { element in
            if case .byte = element { true } else { false }
        }
    }

    /// How many of a fitting text's bytes are given: the more, the more closely the pattern describes it.
    package var weight: Int {
        elements.count { element in
            if case .byte = element { true } else { false }
        }
    }

    package func matches(_ text: [UInt8]) -> Bool {
        var position = 0
        var index = 0
        // Where to go on when what follows the last run does not fit: one byte more for the run.
        var retry: (index: Int, position: Int)?
        while position < text.count {
            if index < elements.count, elements[index] == .run {
                retry = (index, position)
                index += 1
            } else if index < elements.count, Self.fits(elements[index], text[position]) {
                index += 1
                position += 1
            } else if let last = retry {
                retry = (last.index, last.position + 1)
                index = last.index + 1
                position = last.position + 1
            } else {
                return false
            }
        }
        return elements[index...].allSatisfy { $0 == .run }
    }

    package func matches(_ text: String) -> Bool {
        matches(Array(text.utf8))
    }

    private static func fits(_ element: Element, _ byte: UInt8) -> Bool {
        switch element {
        case .byte(let wanted): byte == wanted
        case .any: true
        case .run: false
        case .oneOf(let ranges, let isInverted): ranges.contains { $0.contains(byte) } != isInverted
        }
    }

    private static func elements(_ text: [UInt8]) -> [Element] {
        var elements: [Element] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "*"):
                if elements.last != .run { elements.append(.run) }
            case UInt8(ascii: "?"): elements.append(.any)
            case UInt8(ascii: "["): elements.append(set(&rest))
            case UInt8(ascii: "\\"): elements.append(.byte(rest.popFirst() ?? byte))
            default: elements.append(.byte(byte))
            }
        }
        return elements
    }

    /// What stands between brackets; a missing end counts as one.
    private static func set(_ rest: inout ArraySlice<UInt8>) -> Element {
        var ranges: [ClosedRange<UInt8>] = []
        let isInverted = rest.first == UInt8(ascii: "^")
        if isInverted { rest.removeFirst() }
        while var byte = rest.popFirst(), byte != UInt8(ascii: "]") {
            if byte == UInt8(ascii: "\\"), let next = rest.popFirst() { byte = next }
            guard rest.first == UInt8(ascii: "-"), let end = rest.dropFirst().first, end != UInt8(ascii: "]") else {
                ranges.append(byte...byte)
                continue
            }
            rest = rest.dropFirst(2)
            ranges.append(min(byte, end)...max(byte, end))
        }
        return .oneOf(ranges, isInverted: isInverted)
    }
}
