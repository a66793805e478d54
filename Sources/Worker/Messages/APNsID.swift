/// Makes the `apns-id` of each push of a target: the same push always has the same id, after a retry or a takeover too.
///
/// A UUID of version 8 (RFC 9562 section 5.8) from the message's id, all that makes the target, and the token. The
/// first two are hashed once; a token then costs a few multiplications.
package struct APNsID: Sendable {
    private let seed: (UInt64, UInt64)

    package init(messageID: String, target: Target) {
        var low = UInt64(0x243F_6A88_85A3_08D3)
        var high = UInt64(0x1319_8A2E_0370_7344)
        // The length of each part goes in as well, so that no two lists of parts are one.
        for part in Self.parts(messageID, target) {
            Self.absorb(part, into: &low, &high)
        }
        seed = (low, high)
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
        var (low, high) = seed
        Self.absorb(token, into: &low, &high)
        low = Self.mix(low, high ^ 0x9E37_79B9_7F4A_7C15)
        high = Self.mix(high, low ^ 0xD1B5_4A32_D192_ED03)
        // Version 8 in the 13th digit, variant 10 in the 17th.
        return Self.text((low & ~0xF000) | 0x8000, (high & ~(0b11 << 62)) | (0b10 << 62))
    }

    /// Mixes bytes, eight at a time, and their number into two words.
    private static func absorb(_ bytes: [UInt8], into low: inout UInt64, _ high: inout UInt64) {
        let span = bytes.span
        var index = 0
        while index < span.count {
            var word: UInt64 = 0
            let end = min(index &+ 8, span.count)
            while index < end {
                word = word << 8 | UInt64(span[index])
                index &+= 1
            }
            low = mix(low ^ word, 0xA076_1D64_78BD_642F)
            high = mix(high &+ word, 0xE703_7ED1_A0B4_28DB ^ low)
        }
        low = mix(low ^ UInt64(span.count), 0x8EBC_6AF0_9C88_C6E3)
        high = mix(high &+ UInt64(span.count), 0x5899_65CC_7537_4CC3)
    }

    /// Multiplies to 128 bits and folds them.
    private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low ^ left.byteSwapped
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
