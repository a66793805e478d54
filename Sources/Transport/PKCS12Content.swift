import COpenSSL

/// What a PKCS#12 file holds (RFC 7292), as PEM.
struct PKCS12Content {
    private(set) var keyPEM: [UInt8]?
    private(set) var certificatePEMs: [[UInt8]] = []

    init(_ der: [UInt8], password: CPassword) throws(CertifiedKey.Failure) {
        let file = try PKCS12File(der)
        try file.check(password)
        if let content = try file.content(password) {
            self = content
            return
        }
        // The password is right, so the ciphers are not: those of old are in a provider of their own, which is loaded
        // for this one file and not for the process.
        guard let ciphers = OldCiphers() else { throw .oldCiphers }
        let old = try ciphers.use { () throws(CertifiedKey.Failure) in try PKCS12File(der).content(password) }
        guard let old else { throw .unreadable(openSSLErrorText()) }
        self = old
    }

    fileprivate init() {}

    fileprivate mutating func take(_ key: PrivateKey?, _ certificates: [Certificate]) throws(CertifiedKey.Failure) {
        do {
            keyPEM = try key?.pem()
            for certificate in certificates { certificatePEMs.append(try certificate.pem()) }
        } catch {
            throw .unreadable("\(error)")
        }
    }
}

/// A surrounding in which OpenSSL knows RC2, DES and the like; it must outlive what was made in it.
@safe private final class OldCiphers {
    private let context: OpaquePointer
    private let legacy: OpaquePointer?
    private let standard: OpaquePointer?

    /// Nil when the legacy provider is not installed.
    init?() {
        ERR_clear_error()
        guard let context = unsafe OSSL_LIB_CTX_new() else { return nil }
        unsafe self.context = context
        unsafe legacy = OSSL_PROVIDER_load(context, "legacy")
        unsafe standard = OSSL_PROVIDER_load(context, "default")
        guard unsafe legacy != nil, unsafe standard != nil else {
            ERR_clear_error()
            return nil
        }
    }

    /// Does something on this thread with the ciphers; what is made meanwhile must not outlive it.
    func use<Value>(_ body: () throws(CertifiedKey.Failure) -> Value) throws(CertifiedKey.Failure) -> Value {
        let usual = unsafe OSSL_LIB_CTX_set0_default(context)
        defer { unsafe OSSL_LIB_CTX_set0_default(usual) }
        return try body()
    }

    deinit {
        if let legacy = unsafe legacy { unsafe OSSL_PROVIDER_unload(legacy) }
        if let standard = unsafe standard { unsafe OSSL_PROVIDER_unload(standard) }
        unsafe OSSL_LIB_CTX_free(context)
    }
}

@safe private final class PKCS12File {
    private let pointer: OpaquePointer

    init(_ der: [UInt8]) throws(CertifiedKey.Failure) {
        ERR_clear_error()
        let read = unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_PKCS12(nil, &start, buffer.count)
        }
        guard let read = unsafe read else {
            let reason = openSSLErrorText()
            throw Certificate(der: der) == nil ? .unreadable("it is no .p12: \(reason)") : .keyMissing
        }
        unsafe self.pointer = read
    }

    deinit {
        unsafe PKCS12_free(pointer)
    }

    /// Compares the password with the file's checksum, if it has one.
    func check(_ password: CPassword) throws(CertifiedKey.Failure) {
        defer { ERR_clear_error() }
        guard unsafe PKCS12_mac_present(pointer) == 1 else { return }
        // No password is written in two ways.
        let isEmpty = password.bytes.count == 1
        if isEmpty, unsafe PKCS12_verify_mac(pointer, nil, 0) == 1 { return }
        let text = password.bytes.map { CChar(bitPattern: $0) }
        guard unsafe PKCS12_verify_mac(pointer, text, -1) == 1 else {
            throw password.isGiven ? .passwordWrong : .passwordMissing
        }
    }

    /// What is in it; nil when it cannot be decrypted here.
    func content(_ password: CPassword) throws(CertifiedKey.Failure) -> PKCS12Content? {
        ERR_clear_error()
        var keyPointer: OpaquePointer?
        var certificatePointer: OpaquePointer?
        var chain: OpaquePointer?
        let text = password.bytes.map { CChar(bitPattern: $0) }
        guard unsafe PKCS12_parse(pointer, text, &keyPointer, &certificatePointer, &chain) == 1 else { return nil }
        defer { unsafe shim_free_chain(chain) }
        let key = unsafe keyPointer.map { unsafe PrivateKey(owning: $0) }
        var certificates = unsafe certificatePointer.map { unsafe [Certificate(owning: $0)] } ?? []
        while let next = unsafe shim_take_first(chain) { unsafe certificates.append(Certificate(owning: next)) }
        var content = PKCS12Content()
        try content.take(key, certificates)
        return content
    }
}
