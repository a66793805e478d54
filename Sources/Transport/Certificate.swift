import COpenSSL

/// An X.509 certificate in OpenSSL's form; not shared between threads.
@safe final class Certificate {
    let pointer: OpaquePointer

    /// Takes over the reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// Reads the DER form; nil when it is none.
    init?(der: [UInt8]) {
        let pointer = unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_X509(nil, &start, buffer.count)
        }
        ERR_clear_error()
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
    }

    /// All certificates of a PEM text, which must have at least one.
    static func all(inPEM pem: [UInt8]) throws(TransportError) -> [Certificate] {
        ERR_clear_error()
        let text = try MemoryText(pem)
        var certificates: [Certificate] = []
        while let pointer = unsafe PEM_read_bio_X509(text.pointer, nil, nil, nil) {
            unsafe certificates.append(Certificate(owning: pointer))
        }
        let reason = openSSLErrorText()
        guard !certificates.isEmpty else { throw .unusable("the text has no PEM certificate: \(reason)") }
        // "no start line" is the end of the text; anything else is a broken certificate after good ones.
        guard reason == "no start line" else { throw .unusable("a PEM certificate is broken: \(reason)") }
        return certificates
    }

    func pem() throws(TransportError) -> [UInt8] {
        let text = try MemoryText([])
        guard unsafe PEM_write_bio_X509(text.pointer, pointer) == 1 else { throw .unusable(openSSLErrorText()) }
        return text.bytes
    }
}

/// A private key in OpenSSL's form; not shared between threads.
@safe final class PrivateKey {
    let pointer: OpaquePointer

    /// A new key on the curve P-256.
    init() throws(TransportError) {
        ERR_clear_error()
        guard let pointer = unsafe shim_make_p256_key() else { throw .unusable(openSSLErrorText()) }
        unsafe self.pointer = pointer
    }

    /// Takes over the reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    /// Reads the first key of a PEM text; nil when there is none, or none that this password opens.
    init?(pem: [UInt8], password: CPassword) {
        ERR_clear_error()
        guard let text = try? MemoryText(pem) else { return nil }
        var bytes = password.bytes
        let pointer = unsafe bytes.withUnsafeMutableBytes { buffer in
            // Without a callback OpenSSL takes the argument as the password, a C string.
            unsafe PEM_read_bio_PrivateKey(text.pointer, nil, nil, buffer.baseAddress)
        }
        guard let pointer = unsafe pointer else { return nil }
        unsafe self.pointer = pointer
    }

    /// Encrypted keys are refused: there is no password.
    init(pem: [UInt8]) throws(TransportError) {
        ERR_clear_error()
        let text = try MemoryText(pem)
        let refusal: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            _,
            _,
            _,
            _ in -1
        }
        guard let pointer = unsafe PEM_read_bio_PrivateKey(text.pointer, nil, refusal, nil) else {
            throw .unusable("the text has no usable PEM private key: \(openSSLErrorText())")
        }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    func pem() throws(TransportError) -> [UInt8] {
        let text = try MemoryText([])
        guard unsafe PEM_write_bio_PrivateKey(text.pointer, pointer, nil, nil, 0, nil, nil) == 1 else {
            throw .unusable(openSSLErrorText())
        }
        return text.bytes
    }
}

/// Bytes as an OpenSSL stream in memory; wiped on release by OpenSSL's allocator.
@safe final class MemoryText {
    let pointer: OpaquePointer

    init(_ bytes: [UInt8]) throws(TransportError) {
        guard let pointer = unsafe BIO_new(BIO_s_secmem()) else { throw .unusable(openSSLErrorText()) }
        unsafe self.pointer = pointer
        guard !bytes.isEmpty else { return }
        guard unsafe BIO_write(pointer, bytes, Int32(clamping: bytes.count)) == bytes.count else {
            throw .unusable("the text is too long: \(bytes.count) bytes")
        }
    }

    deinit {
        unsafe BIO_free(pointer)
    }

    var bytes: [UInt8] {
        var start: UnsafePointer<CChar>?
        let count = unsafe shim_memory_bytes(pointer, &start)
        return unsafe Array(unsafe UnsafeRawBufferPointer(start: start, count: max(0, count)))
    }
}
