import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum Digest {
    /// The 32 bytes of the digest.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        let result = unsafe EVP_Digest(bytes, bytes.count, &digest, &count, shim_sha256(), nil)
        precondition(result == 1 && count == 32, "OpenSSL has no SHA-256")
        return digest
    }

    /// Bytes in lowercase hexadecimal.
    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
