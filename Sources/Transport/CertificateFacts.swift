import COpenSSL

/// What a certificate says about itself.
package struct CertificateFacts: Equatable, Sendable {
    package let commonName: String?
    /// The attribute UID of the subject.
    package let userID: String?
    /// Unix seconds.
    package let notBefore: Int64
    /// Unix seconds.
    package let notAfter: Int64
    /// SHA-256 of the whole certificate.
    package let fingerprint: [UInt8]
    /// The DER values of the extensions by their numbers, as `2.5.29.15`.
    package let extensions: [String: [UInt8]]

    init(_ certificate: Certificate) {
        ERR_clear_error()
        let pointer = unsafe certificate.pointer
        let subject = unsafe X509_get_subject_name(pointer)
        commonName = unsafe Self.text(NID_commonName, in: subject)
        userID = unsafe Self.text(NID_userId, in: subject)
        notBefore = unsafe Self.unixSeconds(X509_get0_notBefore(pointer))
        notAfter = unsafe Self.unixSeconds(X509_get0_notAfter(pointer))
        var digest = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 32
        unsafe X509_digest(pointer, EVP_sha256(), &digest, &count)
        fingerprint = digest
        extensions = unsafe Self.extensions(of: pointer)
        ERR_clear_error()
    }

    private static func extensions(of pointer: OpaquePointer) -> [String: [UInt8]] {
        var values: [String: [UInt8]] = [:]
        for index in 0..<max(0, unsafe X509_get_ext_count(pointer)) {
            let entry = unsafe X509_get_ext(pointer, index)
            var name = [CChar](repeating: 0, count: 128)
            let count = unsafe OBJ_obj2txt(&name, Int32(name.count), X509_EXTENSION_get_object(entry), 1)
            guard count > 0, Int(count) < name.count else { continue }
            let text = String(decoding: name.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            unsafe values[text] = bytes(of: X509_EXTENSION_get_data(entry))
        }
        return values
    }

    private static func text(_ attribute: Int32, in name: OpaquePointer?) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, attribute, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index) else { return nil }
        var utf8: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry))
        guard count >= 0, let start = unsafe utf8 else { return nil }
        defer { unsafe shim_free(start) }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    private static func bytes(of string: UnsafeMutablePointer<ASN1_OCTET_STRING>?) -> [UInt8] {
        let count = unsafe ASN1_STRING_length(string)
        return unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(max(0, count))))
    }

    private static func unixSeconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        let epoch = unsafe ASN1_TIME_set(nil, 0)
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return 0 }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}
