import COpenSSL

/// A private key that signs tokens: ES256 for APNs, RS256 for Google.
///
/// Never shown. Any thread: OpenSSL keys may be used by several threads at once as long as nobody changes them.
@safe package final class SigningKey: @unchecked Sendable {
    /// The names of signed tokens (RFC 7518, section 3.1).
    package enum Algorithm: String, Sendable {
        /// ECDSA on the curve P-256 with SHA-256; the signature is R and S, 32 bytes each.
        case es256 = "ES256"
        /// RSA with PKCS#1 v1.5 padding and SHA-256.
        case rs256 = "RS256"
    }

    package let algorithm: Algorithm
    private let pointer: OpaquePointer

    /// Takes over the reference, also when the key is of another kind.
    private init(owning pointer: OpaquePointer, _ algorithm: Algorithm) throws(KeyError) {
        unsafe self.pointer = pointer
        self.algorithm = algorithm
        guard let problem = unsafe Self.mismatch(pointer, algorithm) else { return }
        throw problem
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// Reads a private key in any form in which people paste it; see ``PrivateKeyText``.
    package convenience init(_ text: [UInt8], _ algorithm: Algorithm) throws(KeyError) {
        let der = try PrivateKeyText.der(text)
        ERR_clear_error()
        let pointer = unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &start, buffer.count)
        }
        guard let pointer = unsafe pointer else { throw .unreadable(Self.libraryText()) }
        try unsafe self.init(owning: pointer, algorithm)
    }

    /// A new key: P-256, or RSA with 2048 bits.
    package static func generate(_ algorithm: Algorithm) throws(KeyError) -> SigningKey {
        ERR_clear_error()
        let pointer =
            switch algorithm {
            case .es256: unsafe shim_make_p256_key()
            case .rs256: unsafe shim_make_rsa_key(2048)
            }
        guard let pointer = unsafe pointer else { throw .library(libraryText()) }
        return try unsafe SigningKey(owning: pointer, algorithm)
    }

    /// The private key as PKCS#8 in PEM, the form of Apple's `.p8` and of Google's `private_key`.
    package func privatePEM() throws(KeyError) -> [UInt8] {
        ERR_clear_error()
        guard let structure = unsafe EVP_PKEY2PKCS8(pointer) else { throw .library(Self.libraryText()) }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(structure) }
        let der = unsafe Self.der { unsafe i2d_PKCS8_PRIV_KEY_INFO(structure, $0) }
        return try Self.pem("PRIVATE KEY", der)
    }

    /// The public key in PEM (SubjectPublicKeyInfo).
    package func publicPEM() throws(KeyError) -> [UInt8] {
        ERR_clear_error()
        return try Self.pem("PUBLIC KEY", unsafe Self.der { unsafe i2d_PUBKEY(pointer, $0) })
    }

    // MARK: Signatures

    /// The signature of a message, in the form of signed tokens.
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        ERR_clear_error()
        guard let context = unsafe EVP_MD_CTX_new() else { throw .library(Self.libraryText()) }
        defer { unsafe EVP_MD_CTX_free(context) }
        var count = Int(unsafe EVP_PKEY_get_size(pointer))
        var signature = [UInt8](repeating: 0, count: count)
        guard unsafe EVP_DigestSignInit(context, nil, shim_sha256(), nil, pointer) == 1,
            unsafe EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { throw .library(Self.libraryText()) }
        signature.removeLast(signature.count - count)
        guard algorithm == .es256 else { return signature }
        guard let pair = ECDSASignature.pair(fromDER: signature) else { throw .library("not a signature of P-256") }
        return pair
    }

    /// Whether a signature in the form of signed tokens is this key's for a message.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        var signature = signature
        if algorithm == .es256 {
            guard let der = ECDSASignature.der(fromPair: signature) else { return false }
            signature = der
        }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        let isVerified =
            unsafe EVP_DigestVerifyInit(context, nil, shim_sha256(), nil, pointer) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        ERR_clear_error()
        return isVerified
    }

    // MARK: OpenSSL

    /// What is wrong with the kind of a key.
    private static func mismatch(_ pointer: OpaquePointer, _ algorithm: Algorithm) -> KeyError? {
        let isEC = unsafe EVP_PKEY_is_a(pointer, "EC") == 1
        let isRSA = unsafe EVP_PKEY_is_a(pointer, "RSA") == 1
        let bits = unsafe EVP_PKEY_get_bits(pointer)
        let found = isEC ? "an EC key of \(bits) bits" : isRSA ? "an RSA key of \(bits) bits" : "a key of another kind"
        switch algorithm {
        case .es256:
            let isP256 = unsafe isEC && isCurveP256(pointer)
            return isP256 ? nil : .wrongKind(found: found, needed: "an EC key on the curve P-256")
        case .rs256:
            return isRSA && bits >= 2048 ? nil : .wrongKind(found: found, needed: "an RSA key of at least 2048 bits")
        }
    }

    private static func isCurveP256(_ pointer: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else { return false }
        let text = String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text == "prime256v1" || text == "P-256"
    }

    /// What one of OpenSSL's writers of DER gives; empty when it fails.
    private static func der(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
        let count = write(nil)
        guard count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(count))
        let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe write(&start)
        }
        return written == count ? bytes : []
    }

    private static func pem(_ label: String, _ der: [UInt8]) throws(KeyError) -> [UInt8] {
        guard !der.isEmpty else { throw .library(libraryText()) }
        let text = Base64.encode(der)
        var lines = ["-----BEGIN \(label)-----"]
        for start in stride(from: 0, to: text.count, by: 64) {
            lines.append(String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self))
        }
        return Array((lines + ["-----END \(label)-----", ""]).joined(separator: "\n").utf8)
    }

    /// The newest text of OpenSSL's error queue, which is emptied.
    private static func libraryText() -> String {
        let code = ERR_peek_last_error()
        defer { ERR_clear_error() }
        guard code != 0, let reason = unsafe ERR_reason_error_string(code) else { return "OpenSSL gives no reason" }
        return unsafe String(cString: reason)
    }
}
