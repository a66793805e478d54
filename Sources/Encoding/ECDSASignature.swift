import COpenSSL

/// The two forms of a signature on the curve P-256: DER, as OpenSSL has it, and the pair R, S of 32 bytes each, as
/// signed tokens have it (RFC 7518, section 3.4).
enum ECDSASignature {
    private static let halfBytes = 32

    static func pair(fromDER der: [UInt8]) -> [UInt8]? {
        let signature = unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &start, buffer.count)
        }
        guard let signature = unsafe signature else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: halfBytes)
        var s = r
        guard unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, Int32(halfBytes)) == halfBytes,
            unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, Int32(halfBytes)) == halfBytes
        else { return nil }
        return r + s
    }

    static func der(fromPair pair: [UInt8]) -> [UInt8]? {
        guard pair.count == 2 * halfBytes else { return nil }
        let numbers = integer(pair[..<halfBytes]) + integer(pair[halfBytes...])
        // Two integers of at most 35 bytes each: one byte of length is enough.
        return [0x30, UInt8(numbers.count)] + numbers
    }

    /// A DER integer: no needless leading zeros, and one zero before a set top bit (X.690, section 8.3).
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }
}
