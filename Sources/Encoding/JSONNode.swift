/// What a JSON value is.
package enum JSONKind: UInt8, Equatable, Sendable {
    case null, `true`, `false`, number, string, array, object

    /// The word for people.
    package var name: String {
        switch self {
        case .null: "null"
        case .true, .false: "a boolean"
        case .number: "a number"
        case .string: "a text"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// One value, or one key, of a scanned text: where it stands, and where the next one is.
///
/// The nodes of a text stand in its order. An array's elements follow it; an object's members follow it as pairs of
/// key and value.
package struct JSONNode: Equatable, Sendable {
    package let kind: JSONKind
    /// Only of a text: it has a backslash, so that its bytes are not what it says.
    package let hasEscapes: Bool
    /// Only of a text: an escape names half of a surrogate pair.
    ///
    /// The grammar allows it; no Unicode text can hold it.
    package let hasLoneSurrogate: Bool
    /// The first byte: of a text the quote, of an object the brace.
    package let start: UInt32
    /// Behind the last byte.
    package internal(set) var end: UInt32
    /// The index of the first node behind this one and all that it holds.
    package internal(set) var next: UInt32

    init(
        kind: JSONKind,
        start: Int,
        end: Int,
        next: Int,
        hasEscapes: Bool = false,
        hasLoneSurrogate: Bool = false
    ) {
        self.kind = kind
        self.hasEscapes = hasEscapes
        self.hasLoneSurrogate = hasLoneSurrogate
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
        self.next = UInt32(truncatingIfNeeded: next)
    }

    /// The place in the text, with a text's quotes and an object's braces.
    package var range: Range<Int> { Int(start)..<max(Int(start), Int(end)) }
}
