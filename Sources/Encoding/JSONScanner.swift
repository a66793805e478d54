/// Scans a text by RFC 8259, strictly: one value, UTF-8 without byte order mark, no trailing commas, no comments.
///
/// Gives the list of nodes and changes nothing. Nesting is as deep as the text likes: there is no recursion, an open
/// array or object keeps its parent's index in its own node.
@safe
struct JSONScanner: ~Copyable {
    /// Longer texts are refused: nodes hold 32-bit places.
    static let maximumBytes = Int(Int32.max)
    /// The parent's index of the outermost value.
    private static let none = Int(UInt32.max)

    let base: UnsafePointer<UInt8>
    let end: Int
    var position = 0
    var nodes: [JSONNode] = []
    /// The innermost open array or object.
    private var open = JSONScanner.none
    private var isInObject = false

    /// The nodes of a text.
    static func nodes(of bytes: RawSpan) throws(JSONError) -> [JSONNode] {
        guard bytes.byteCount <= maximumBytes else { throw JSONError(.tooLong, at: 0) }
        guard bytes.byteCount > 0 else { throw JSONError(.unexpectedEnd, at: 0) }
        let result = unsafe bytes.withUnsafeBytes { buffer -> Result<[JSONNode], JSONError> in
            guard let base = unsafe buffer.bindMemory(to: UInt8.self).baseAddress else { return .success([]) }
            return unsafe scan(base, count: buffer.count)
        }
        return try result.get()
    }

    private static func scan(_ base: UnsafePointer<UInt8>, count: Int) -> Result<[JSONNode], JSONError> {
        var scanner = unsafe JSONScanner(base: base, count: count)
        do throws(JSONError) {
            try scanner.run()
            return .success(scanner.nodes)
        } catch {
            return .failure(error)
        }
    }

    private init(base: UnsafePointer<UInt8>, count: Int) {
        unsafe self.base = unsafe base
        end = count
        nodes.reserveCapacity(min(count / 6, 4096) + 8)
    }

    private mutating func run() throws(JSONError) {
        while true {
            // Here a value must begin.
            skipSpace()
            let byte = try current()
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                if try enter(isObject: byte == UInt8(ascii: "{")) { continue }
            } else {
                try scanScalar(byte)
            }
            if try !findNext() { return }
        }
    }

    /// Behind a value: goes to where the next one begins; false at the end of the text.
    private mutating func findNext() throws(JSONError) -> Bool {
        while open != Self.none {
            skipSpace()
            let byte = try current()
            if byte == UInt8(ascii: ",") {
                position &+= 1
                if isInObject { try scanKey() }
                return true
            }
            guard byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { throw unexpected(byte) }
            leave()
        }
        skipSpace()
        guard position == end else { throw JSONError(.textAfterValue, at: position) }
        return false
    }

    /// Opens an array or object; false when it is empty and closed again.
    private mutating func enter(isObject: Bool) throws(JSONError) -> Bool {
        nodes.append(JSONNode(kind: isObject ? .object : .array, start: position, end: 0, next: open))
        open = nodes.count &- 1
        isInObject = isObject
        position &+= 1
        skipSpace()
        if try current() == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            leave()
            return false
        }
        if isObject { try scanKey() }
        return true
    }

    /// Closes the innermost array or object, at whose last byte the position is.
    private mutating func leave() {
        position &+= 1
        let parent = nodes[open].next
        nodes[open].end = UInt32(truncatingIfNeeded: position)
        nodes[open].next = UInt32(truncatingIfNeeded: nodes.count)
        open = Int(parent)
        isInObject = open != Self.none && nodes[open].kind == .object
    }

    private mutating func scanKey() throws(JSONError) {
        skipSpace()
        let quote = try current()
        guard quote == UInt8(ascii: "\"") else { throw unexpected(quote) }
        try scanString()
        skipSpace()
        let colon = try current()
        guard colon == UInt8(ascii: ":") else { throw unexpected(colon) }
        position &+= 1
    }

    private mutating func scanScalar(_ byte: UInt8) throws(JSONError) {
        switch byte {
        case UInt8(ascii: "\""): try scanString()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
        case UInt8(ascii: "t"): try scanWord("true", .true)
        case UInt8(ascii: "f"): try scanWord("false", .false)
        case UInt8(ascii: "n"): try scanWord("null", .null)
        default: throw unexpected(byte)
        }
    }

    private mutating func scanWord(_ word: StaticString, _ kind: JSONKind) throws(JSONError) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            let byte = try current()
            guard unsafe byte == word.utf8Start[index] else { throw unexpected(byte) }
            position &+= 1
        }
        add(kind, from: start)
    }

    /// `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?` (RFC 8259 section 6).
    private mutating func scanNumber() throws(JSONError) {
        let start = position
        if byte(at: position) == UInt8(ascii: "-") { position &+= 1 }
        if byte(at: position) == UInt8(ascii: "0") {
            position &+= 1
        } else {
            try scanDigits()
        }
        if byte(at: position) == UInt8(ascii: ".") {
            position &+= 1
            try scanDigits()
        }
        if byte(at: position) | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            let sign = byte(at: position)
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position &+= 1 }
            try scanDigits()
        }
        add(.number, from: start)
    }

    private mutating func scanDigits() throws(JSONError) {
        let start = position
        while byte(at: position) &- UInt8(ascii: "0") < 10 { position &+= 1 }
        guard position > start else { throw JSONError(position < end ? .badNumber : .unexpectedEnd, at: position) }
    }

    private mutating func add(_ kind: JSONKind, from start: Int) {
        nodes.append(JSONNode(kind: kind, start: start, end: position, next: nodes.count &+ 1))
    }

    private mutating func skipSpace() {
        while position < end {
            let byte = unsafe base[position]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position &+= 1
        }
    }

    /// The byte at the position; throws at the end of the text.
    func current() throws(JSONError) -> UInt8 {
        guard position < end else { throw JSONError(.unexpectedEnd, at: position) }
        return unsafe base[position]
    }

    /// The byte at a place, or 0 behind the end, which is no part of any token.
    func byte(at place: Int) -> UInt8 {
        place < end ? unsafe base[place] : 0
    }

    private func unexpected(_ byte: UInt8) -> JSONError {
        JSONError(.unexpectedByte(byte), at: position)
    }
}
