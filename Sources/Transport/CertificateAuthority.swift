import COpenSSL
import Glibc

/// A certificate authority in memory, with P-256 keys: for the simulator, the demo and tests.
package struct CertificateAuthority: Sendable {
    /// What a client must trust.
    package let certificatePEM: [UInt8]
    private let keyPEM: [UInt8]

    /// Makes a new authority, valid for a year.
    package init(name: String) throws(TransportError) {
        let key = try PrivateKey()
        var form = CertificateForm(name: name, subjectKey: key, issuerKey: key)
        form.extensions = [
            (NID_basic_constraints, "critical,CA:TRUE"),
            (NID_key_usage, "critical,keyCertSign,cRLSign"),
            (NID_subject_key_identifier, "hash"),
        ]
        certificatePEM = try form.signed().pem()
        keyPEM = try key.pem()
    }

    /// A certificate for a server with these names or IP addresses, which may also be shown by a client.
    ///
    /// `secondsFromNow` is the time of its validity: a range that lies in the past makes an expired one.
    ///
    /// `userID` is the attribute UID of its subject; `others` are further extensions, their numbers and DER values.
    package func issue(
        hosts: [String],
        secondsFromNow validity: ClosedRange<Int> = -3600...31_536_000,
        userID: String? = nil,
        others: [(number: String, value: [UInt8])] = []
    ) throws(TransportError) -> CertifiedKey {
        guard let issuer = try Certificate.all(inPEM: certificatePEM).first else {
            throw .unusable("the authority has no certificate")
        }
        let key = try PrivateKey()
        var form = CertificateForm(name: hosts.first ?? "", subjectKey: key, issuerKey: try PrivateKey(pem: keyPEM))
        form.issuer = issuer
        form.validity = validity
        form.userID = userID
        form.others = others
        form.extensions = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth,clientAuth"),
            (NID_subject_key_identifier, "hash"),
            (NID_authority_key_identifier, "keyid"),
            (NID_subject_alt_name, try Self.alternativeNames(hosts)),
        ]
        return CertifiedKey(chainPEM: try form.signed().pem(), keyPEM: try key.pem())
    }

    /// The subject alternative names in OpenSSL's notation (x509v3_config(5)).
    private static func alternativeNames(_ hosts: [String]) throws(TransportError) -> String {
        var names: [String] = []
        for host in hosts {
            guard !host.isEmpty, !host.utf8.contains(UInt8(ascii: ",")) else {
                throw .unusable("a certificate cannot be made for the host name \"\(host)\"")
            }
            let isAddress = (try? Resolver.lookUp(host: host, port: 0, flags: AI_NUMERICHOST)) != nil
            names.append((isAddress ? "IP:" : "DNS:") + host)
        }
        return names.joined(separator: ",")
    }
}

/// What goes into a certificate before it is signed.
private struct CertificateForm {
    var name: String
    var subjectKey: PrivateKey
    var issuerKey: PrivateKey
    /// Nil: the certificate is its own issuer.
    var issuer: Certificate?
    var validity = -3600...31_536_000
    var extensions: [(identifier: Int32, value: String)] = []
    var userID: String?
    var others: [(number: String, value: [UInt8])] = []

    func signed() throws(TransportError) -> Certificate {
        ERR_clear_error()
        guard let pointer = unsafe X509_new() else { throw .unusable(openSSLErrorText()) }
        let certificate = unsafe Certificate(owning: pointer)
        unsafe X509_set_version(pointer, Int(X509_VERSION_3))
        unsafe ASN1_INTEGER_set_uint64(X509_get_serialNumber(pointer), UInt64.random(in: 1...(1 << 62)))
        unsafe X509_gmtime_adj(X509_getm_notBefore(pointer), validity.lowerBound)
        unsafe X509_gmtime_adj(X509_getm_notAfter(pointer), validity.upperBound)
        unsafe X509_set_pubkey(pointer, subjectKey.pointer)
        // A common name has 64 characters at most (RFC 5280 appendix A); the names that count are in an extension.
        let subject = unsafe X509_get_subject_name(pointer)
        let commonName = Array(name.utf8.prefix(64))
        unsafe X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, commonName, Int32(commonName.count), -1, 0)
        if let userID {
            let text = Array(userID.utf8)
            unsafe X509_NAME_add_entry_by_txt(subject, "UID", MBSTRING_UTF8, text, Int32(text.count), -1, 0)
        }
        unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuer?.pointer ?? pointer))
        for (identifier, value) in extensions { try add(identifier, value, to: certificate) }
        for (number, value) in others { try add(number, value, to: certificate) }
        guard unsafe X509_sign(pointer, issuerKey.pointer, EVP_sha256()) > 0 else {
            throw .unusable("the certificate cannot be signed: \(openSSLErrorText())")
        }
        return certificate
    }

    private func add(_ identifier: Int32, _ value: String, to certificate: Certificate) throws(TransportError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer?.pointer ?? certificate.pointer, certificate.pointer, nil, nil, 0)
        guard let entry = unsafe X509V3_EXT_conf_nid(nil, &context, identifier, value) else {
            throw .unusable("the certificate extension \(value) cannot be made: \(openSSLErrorText())")
        }
        defer { unsafe X509_EXTENSION_free(entry) }
        guard unsafe X509_add_ext(certificate.pointer, entry, -1) == 1 else { throw .unusable(openSSLErrorText()) }
    }

    /// An extension of any kind, by its number and its DER value.
    private func add(_ number: String, _ value: [UInt8], to certificate: Certificate) throws(TransportError) {
        let name = unsafe OBJ_txt2obj(number, 1)
        defer { unsafe ASN1_OBJECT_free(name) }
        let octets = unsafe ASN1_OCTET_STRING_new()
        defer { unsafe ASN1_OCTET_STRING_free(octets) }
        guard unsafe name != nil, unsafe ASN1_OCTET_STRING_set(octets, value, Int32(clamping: value.count)) == 1,
            let entry = unsafe X509_EXTENSION_create_by_OBJ(nil, name, 0, octets)
        else { throw .unusable("the certificate extension \(number) cannot be made: \(openSSLErrorText())") }
        defer { unsafe X509_EXTENSION_free(entry) }
        guard unsafe X509_add_ext(certificate.pointer, entry, -1) == 1 else { throw .unusable(openSSLErrorText()) }
    }
}
