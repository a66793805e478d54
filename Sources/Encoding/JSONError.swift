/// Why a text is not JSON, and where.
package struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        case unexpectedEnd
        case unexpectedByte(UInt8)
        case badEscape
        case controlCharacter
        case badNumber
        case notUTF8
        case textAfterValue
        /// Over 2 GiB.
        case tooLong
    }

    package let reason: Reason
    /// Bytes from the beginning.
    package let offset: Int

    package init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String {
        let what =
            switch reason {
            case .unexpectedEnd: "it ends too early"
            case .unexpectedByte(let byte): "0x\(String(byte, radix: 16)) cannot stand here"
            case .badEscape: "an escape is not one of JSON's"
            case .controlCharacter: "a control character stands unescaped in a text"
            case .badNumber: "a number is not spelled as JSON wants it"
            case .notUTF8: "a text is not UTF-8"
            case .textAfterValue: "something follows after the end"
            case .tooLong: "it is over 2 GiB"
            }
        return "not valid JSON at byte \(offset): \(what)"
    }
}
