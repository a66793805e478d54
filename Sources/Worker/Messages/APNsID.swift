/// Makes the `apns-id` of each push of a target: the same push always has the same id, after a retry or a takeover too.
///
/// A UUID of version 8 (RFC 9562 section 5.8) from the message's id, all that makes the target, and the token, by
/// MurmurHash3 in its form for 128 bits. The first two are hashed once for all tokens.
package struct APNsID: Sendable {
    private let seed: Murmur128

    package init(messageID: String, target: Target) {
        var seed = Murmur128()
        for part in Self.parts(messageID, target) { seed.absorb(part) }
        self.seed = seed
    }

    private static func parts(_ messageID: String, _ target: Target) -> [[UInt8]] {
        [
            Array(messageID.utf8),
            Array(target.gateway.rawValue.utf8),
            Array((target.environment?.rawValue ?? "").utf8),
            [target.isLegacyForm ? 1 : 0],
            Array((target.topic ?? "").utf8),
            Array((target.apns?.pushType.name ?? "").utf8),
            [target.apns?.collapseID == nil ? 0 : 1],
            target.apns?.collapseID ?? [],
        ]
    }

    /// The id for a device, 36 bytes of lower-case text; `token` as it is sent.
    package func callAsFunction(_ token: [UInt8]) -> [UInt8] {
        var hash = seed
        hash.absorb(token)
        // Version 8 in the 13th digit, variant 10 in the 17th.
        return Self.text((hash.high & ~0xF000) | 0x8000, (hash.low & ~(0b11 << 62)) | (0b10 << 62))
    }

    /// Two words as 8-4-4-4-12 hexadecimal digits.
    private static func text(_ first: UInt64, _ second: UInt64) -> [UInt8] {
        [UInt8](capacity: 36) { bytes in
            append(first >> 32, digits: 8, to: &bytes)
            bytes.append(UInt8(ascii: "-"))
            append(first >> 16, digits: 4, to: &bytes)
            bytes.append(UInt8(ascii: "-"))
            append(first, digits: 4, to: &bytes)
            bytes.append(UInt8(ascii: "-"))
            append(second >> 48, digits: 4, to: &bytes)
            bytes.append(UInt8(ascii: "-"))
            append(second, digits: 12, to: &bytes)
        }
    }

    private static func append(_ word: UInt64, digits: Int, to bytes: inout OutputSpan<UInt8>) {
        var shift = digits &* 4
        while shift > 0 {
            shift &-= 4
            let digit = UInt8(truncatingIfNeeded: word &>> UInt64(shift)) & 0xF
            bytes.append(digit &+ (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") &- 10))
        }
    }
}

/// MurmurHash3_x64_128 by Austin Appleby (public domain), with a state that takes one part after the other.
///
/// Each part is finished with its length, so that no two lists of parts are one. Not for secrets.
private struct Murmur128 {
    private(set) var high: UInt64 = 0
    private(set) var low: UInt64 = 0

    private static let first: UInt64 = 0x87C3_7B91_1142_53D5
    private static let second: UInt64 = 0x4CF5_AD43_2745_937F

    mutating func absorb(_ part: [UInt8]) {
        let bytes = part.span
        var index = 0
        while index < bytes.count {
            mix(Self.word(bytes, at: index), Self.word(bytes, at: index &+ 8))
            index &+= 16
        }
        finish(UInt64(truncatingIfNeeded: bytes.count))
    }

    /// Eight bytes as a little-endian word; behind the end are zeros.
    private static func word(_ bytes: Span<UInt8>, at index: Int) -> UInt64 {
        var word: UInt64 = 0
        if index &+ 8 <= bytes.count {
            for offset in 0..<8 { word |= UInt64(bytes[index &+ offset]) &<< UInt64(offset &* 8) }
            return word
        }
        var offset = 0
        while index &+ offset < bytes.count {
            word |= UInt64(bytes[index &+ offset]) &<< UInt64(offset &* 8)
            offset &+= 1
        }
        return word
    }

    private mutating func mix(_ left: UInt64, _ right: UInt64) {
        high ^= Self.rotate(left &* Self.first, 31) &* Self.second
        high = (Self.rotate(high, 27) &+ low) &* 5 &+ 0x52DC_E729
        low ^= Self.rotate(right &* Self.second, 33) &* Self.first
        low = (Self.rotate(low, 31) &+ high) &* 5 &+ 0x3849_5AB5
    }

    private mutating func finish(_ count: UInt64) {
        high ^= count
        low ^= count
        high &+= low
        low &+= high
        high = Self.scramble(high)
        low = Self.scramble(low)
        high &+= low
        low &+= high
    }

    private static func scramble(_ word: UInt64) -> UInt64 {
        var word = word
        word = (word ^ word &>> 33) &* 0xFF51_AFD7_ED55_8CCD
        word = (word ^ word &>> 33) &* 0xC4CE_B9FE_1A85_EC53
        return word ^ word &>> 33
    }

    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 {
        word &<< count | word &>> (64 &- count)
    }
}
