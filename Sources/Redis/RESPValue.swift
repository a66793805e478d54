/// One reply of the Redis protocol, version 2.
package enum RESPValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case bulk([UInt8])
    case simple(String)
    case error(String)
    case array([RESPValue])
}

extension RESPValue {
    /// The bytes of a bulk or simple string.
    package var bytes: [UInt8]? {
        switch self {
        case .bulk(let bytes): bytes
        case .simple(let text): Array(text.utf8)
        default: nil
        }
    }

    /// A bulk or simple string as text; bytes that are not UTF-8 become U+FFFD.
    package var text: String? {
        switch self {
        case .bulk(let bytes): String(decoding: bytes, as: UTF8.self)
        case .simple(let text): text
        default: nil
        }
    }

    /// An integer, or a string that is the text of one.
    package var integer: Int64? {
        switch self {
        case .integer(let value): value
        case .bulk, .simple: text.flatMap { Int64($0) }
        default: nil
        }
    }

    package var elements: [RESPValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    package var isNull: Bool { self == .null }

    /// The error, if this is an error reply.
    package var error: RedisError? {
        guard case .error(let text) = self else { return nil }
        return .reply(text)
    }

    /// The element of an array at an index, nil beyond its end.
    package subscript(index: Int) -> RESPValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}
