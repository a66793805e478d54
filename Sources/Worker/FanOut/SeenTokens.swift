/// The tokens that one walk has met, as 64-bit hashes in an open-addressed table.
///
/// SSCAN may return a member twice while its table is rehashed (Redis: SCAN guarantees), and a device gets one push for
/// a message and target. 8 bytes for a token, at most twice that while the table grows; a false "seen" needs
/// two of a set's tokens to share all 64 bits, one chance in 10⁷ for a set of a million.
package struct SeenTokens: Sendable {
    private var slots: [UInt64]
    private var count = 0

    package init() {
        slots = []
    }

    /// Notes a token; false when it was there already.
    package mutating func insert(_ token: [UInt8]) -> Bool {
        if count * 4 >= slots.count * 3 { grow() }
        let hash = Self.hash(token)
        guard Self.place(hash, into: &slots) else { return false }
        count += 1
        return true
    }

    private mutating func grow() {
        var larger = [UInt64](repeating: 0, count: max(16, slots.count * 2))
        for hash in slots where hash != 0 {
            _ = Self.place(hash, into: &larger)
        }
        slots = larger
    }

    private static func place(_ hash: UInt64, into slots: inout [UInt64]) -> Bool {
        let mask = slots.count - 1
        var index = Int(truncatingIfNeeded: hash) & mask
        while slots[index] != 0 {
            if slots[index] == hash { return false }
            index = (index + 1) & mask
        }
        slots[index] = hash
        return true
    }

    /// A 64-bit hash over eight bytes at a time, never 0, which marks an empty slot.
    private static func hash(_ token: [UInt8]) -> UInt64 {
        var state = UInt64(truncatingIfNeeded: token.count) &* 0x9E37_79B9_7F4A_7C15
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
    fileprivate func word(at offset: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<8 {
            word |= UInt64(self[offset &+ index]) << UInt64(index &* 8)
        }
        return word
    }
}
