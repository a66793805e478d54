import COpenSSL

/// A certificate with its key, to show to a peer; both as PEM, the chain from the leaf on.
package struct CertifiedKey: Equatable, Sendable {
    package var chainPEM: [UInt8]
    package var keyPEM: [UInt8]

    package init(chainPEM: [UInt8], keyPEM: [UInt8]) {
        self.chainPEM = chainPEM
        self.keyPEM = keyPEM
    }

    /// Why a text holds no usable certificate with its key, as the end of the sentence "the certificate …".
    package enum Failure: Error, Equatable, Sendable {
        case passwordMissing
        case passwordWrong
        /// There are certificates, and no private key.
        case keyMissing
        case certificateMissing
        /// The private key belongs to none of the certificates.
        case keyOfAnother
        /// It is encrypted as in OpenSSL 1, and OpenSSL's legacy provider is not installed.
        case oldCiphers
        case unreadable(String)
    }

    /// Reads a PKCS#12 file (RFC 7292): `.p12`, `.pfx`.
    ///
    /// One that is encrypted with the ciphers of old (RC2 with 40 bits) is read too, if OpenSSL's legacy provider is
    /// installed.
    package init(pkcs12 der: [UInt8], password: [UInt8]?) throws(Failure) {
        let password = try CPassword(password)
        let content = try PKCS12Content(der, password: password)
        guard let key = content.keyPEM else { throw .keyMissing }
        try self.init(key: key, certificates: content.certificatePEMs)
    }

    /// Reads a PEM text with certificates, in any order, and the private key of one of them.
    package init(pem: [UInt8], password: [UInt8]?) throws(Failure) {
        var certificates: [[UInt8]] = []
        do {
            for certificate in try Certificate.all(inPEM: pem) { certificates.append(try certificate.pem()) }
        } catch {
            throw Self.contains("BEGIN CERTIFICATE", pem) ? .unreadable("\(error)") : .certificateMissing
        }
        guard Self.contains("PRIVATE KEY-----", pem) else { throw .keyMissing }
        guard let key = PrivateKey(pem: pem, password: try CPassword(password)) else {
            let reason = openSSLErrorText()
            guard Self.contains("ENCRYPTED", pem) else { throw .unreadable(reason) }
            throw password == nil ? .passwordMissing : .passwordWrong
        }
        do {
            try self.init(key: key.pem(), certificates: certificates)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .unreadable("\(error)")
        }
    }

    /// What the leaf says about itself.
    package func facts() throws(TransportError) -> CertificateFacts {
        guard let leaf = try Certificate.all(inPEM: chainPEM).first else { throw .unusable("there is no certificate") }
        return CertificateFacts(leaf)
    }

    /// Puts the key's own certificate first.
    private init(key: [UInt8], certificates: [[UInt8]]) throws(Failure) {
        guard !certificates.isEmpty else { throw .certificateMissing }
        var leaf: Int?
        do {
            let key = try PrivateKey(pem: key)
            for (index, pem) in certificates.enumerated() where leaf == nil {
                guard let certificate = try Certificate.all(inPEM: pem).first else { continue }
                if unsafe X509_check_private_key(certificate.pointer, key.pointer) == 1 { leaf = index }
            }
            ERR_clear_error()
        } catch {
            throw .unreadable("\(error)")
        }
        guard let leaf else { throw .keyOfAnother }
        let others = certificates.indices.filter { $0 != leaf }.flatMap { certificates[$0] }
        self.init(chainPEM: certificates[leaf] + others, keyPEM: key)
    }

    private static func contains(_ words: String, _ text: [UInt8]) -> Bool {
        let words = Array(words.utf8)
        return text.indices.contains { text[$0...].starts(with: words) }
    }
}

extension CertifiedKey.Failure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .passwordMissing: "is protected by a password, and none is set"
        case .passwordWrong: "does not open with this password"
        case .keyMissing:
            "comes without its private key: export both together, as .p12, from the machine that asked for it"
        case .certificateMissing: "is missing: there is neither a .p12 nor PEM (-----BEGIN CERTIFICATE-----)"
        case .keyOfAnother: "does not belong to the private key beside it"
        case .oldCiphers:
            "is a .p12 with ciphers of old, and OpenSSL's legacy provider is not installed; install it, or "
                + "convert the file to PEM"
        case .unreadable(let reason): "cannot be read: \(reason)"
        }
    }
}

/// A password as C wants it.
struct CPassword {
    /// With a NUL at its end; empty without a password.
    let bytes: [UInt8]
    let isGiven: Bool

    init(_ password: [UInt8]?) throws(CertifiedKey.Failure) {
        guard password?.contains(0) != true else { throw .passwordWrong }
        bytes = (password ?? []) + [0]
        isGiven = password != nil
    }
}
