/// A message that is not JSON, searched for what its publisher meant.
///
/// A name in double quotes counts when a colon or the end of the text follows it; without them only when a colon does,
/// and the text begins like an object.
struct BrokenMessage {
    /// A push key was found.
    private(set) var carriesPushKey = false
    /// `pn_debug` was found, and `true` behind it.
    private(set) var asksForTraces = false

    private static let pushKeys = ["pn_apns", "pn_fcm", "pn_gcm"].map { Array($0.utf8) }
    private static let debugKey = Array("pn_debug".utf8)
    /// Enough for the longest of the names with each of its letters escaped.
    private static let maximumNameBytes = 48

    init(_ bytes: [UInt8]) {
        let isObject = bytes.first { $0 > 0x20 && $0 < 0x80 } == UInt8(ascii: "{")
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                note(Self.quotedName(bytes[(index + 1)...]), in: bytes)
            } else if isObject, byte == UInt8(ascii: "p"), index > 0, !Self.isNameByte(bytes[index - 1]),
                bytes[index - 1] != UInt8(ascii: "\"")
            {
                note(Self.bareName(bytes[index...]), in: bytes)
            }
            index += 1
        }
    }

    private mutating func note(_ found: (name: [UInt8], end: Int)?, in bytes: [UInt8]) {
        guard let found, found.name.starts(with: [UInt8(ascii: "p"), UInt8(ascii: "n"), UInt8(ascii: "_")]) else {
            return
        }
        var rest = bytes[found.end...].drop { Self.isSpace($0) }
        let isQuoted = bytes[found.end - 1] == UInt8(ascii: "\"")
        guard rest.isEmpty ? isQuoted : rest.popFirst() == UInt8(ascii: ":") else { return }
        if Self.pushKeys.contains(found.name) { carriesPushKey = true }
        guard found.name == Self.debugKey else { return }
        let value = rest.drop { Self.isSpace($0) }.prefix(5)
        if value.starts(with: "true".utf8), value.count == 4 || value.last.map(Self.isNameByte) == false {
            asksForTraces = true
        }
    }

    /// The name before the next double quote, escapes resolved.
    private static func quotedName(_ bytes: ArraySlice<UInt8>) -> (name: [UInt8], end: Int)? {
        let limited = bytes.prefix(maximumNameBytes)
        var name: [UInt8] = []
        var index = limited.startIndex
        while index < limited.endIndex {
            let byte = limited[index]
            switch byte {
            case UInt8(ascii: "\""): return (name, index + 1)
            case UInt8(ascii: "\\"):
                guard index + 6 <= limited.endIndex, limited[index + 1] == UInt8(ascii: "u"),
                    let unit = UInt8(String(decoding: limited[(index + 2)..<(index + 6)], as: UTF8.self), radix: 16)
                else { return nil }
                name.append(unit)
                index += 6
            default:
                guard isNameByte(byte) else { return nil }
                name.append(byte)
                index += 1
            }
        }
        return nil
    }

    /// A name without quotes, or the one before the next single quote.
    private static func bareName(_ bytes: ArraySlice<UInt8>) -> (name: [UInt8], end: Int) {
        let name = bytes.prefix(maximumNameBytes).prefix { isNameByte($0) }
        let isQuoted = name.endIndex < bytes.endIndex && bytes[name.endIndex] == UInt8(ascii: "'")
        return (Array(name), isQuoted ? name.endIndex + 1 : name.endIndex)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }
}
