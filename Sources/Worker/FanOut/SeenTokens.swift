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

    /// From hashes as Redis keeps them, 8 bytes each; what is left over at the end is not looked at.
    package init(hashes: [UInt8]) {
        var capacity = 16
        while capacity * 3 < (hashes.count / 8) * 4 { capacity *= 2 }
        slots = [UInt64](repeating: 0, count: capacity)
        let span = hashes.span
        var index = 0
        while index &+ 8 <= span.count {
            insert(hash: span.word(at: index))
            index &+= 8
        }
    }

    /// Notes a hash, never 0; false when it was there already.
    @discardableResult
    package mutating func insert(hash: UInt64) -> Bool {
        if count * 4 >= slots.count * 3 { grow() }
        guard hash != 0, Self.place(hash, into: &slots) else { return false }
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
}
