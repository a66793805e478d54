/// A 64-bit hash of a device token, the same in every process and version: Redis keeps such hashes.
///
/// Over eight bytes at a time, never 0. Two of a million tokens share one by a chance of one in 10⁷. Not for secrets.
package enum TokenHash {
    /// The hash of a token; `salt` gives each use its own.
    package static func of(_ token: [UInt8], salt: Int = 0) -> UInt64 {
        let length = UInt64(truncatingIfNeeded: token.count) &* 0x9E37_79B9_7F4A_7C15
        var state = length ^ (UInt64(truncatingIfNeeded: salt) &* 0xD6E8_FEB8_6659_FD93)
        let span = token.span
        var index = 0
        while index &+ 8 <= span.count {
            state = mix(state ^ span.word(at: index))
            index &+= 8
        }
        var tail: UInt64 = 0
        while index < span.count {
            tail = tail << 8 | UInt64(span[index])
            index &+= 1
        }
        state = mix(state ^ tail)
        return state == 0 ? 1 : state
    }

    /// Multiplies to 128 bits and folds them.
    private static func mix(_ word: UInt64) -> UInt64 {
        let product = (word ^ 0xA076_1D64_78BD_642F).multipliedFullWidth(by: 0xE703_7ED1_A0B4_28DB)
        return product.high ^ product.low
    }
}

extension Span<UInt8> {
    /// Eight bytes from an offset as a little-endian word.
    package func word(at offset: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<8 {
            word |= UInt64(self[offset &+ index]) << UInt64(index &* 8)
        }
        return word
    }
}

extension [UInt8] {
    /// Appends a word, its lowest byte first.
    package mutating func append(littleEndian word: UInt64) {
        for index in 0..<8 {
            append(UInt8(truncatingIfNeeded: word >> UInt64(index &* 8)))
        }
    }
}
