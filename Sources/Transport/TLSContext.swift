import COpenSSL
import Glibc

/// What the TLS sessions of one kind share: versions, trust, certificate, protocols.
///
/// Unchecked `Sendable`: set up before it is shared and never changed after; OpenSSL locks its own counters.
@safe final class TLSContext: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The protocols in the form of RFC 7301 §3.1: a length byte before each.
    private let wireProtocols: [UInt8]
    let protocols: [String]

    init(client: Bool, alpn: [String]) throws(TransportError) {
        ERR_clear_error()
        guard let pointer = unsafe SSL_CTX_new(client ? TLS_client_method() : TLS_server_method()) else {
            throw .tls(openSSLErrorText())
        }
        unsafe self.pointer = pointer
        protocols = alpn
        wireProtocols = alpn.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8.prefix(255)) }
        guard unsafe shim_set_minimum_version(pointer, TLS1_2_VERSION) == 1 else { throw .tls(openSSLErrorText()) }
        // A peer that closes the socket without a TLS close ends the stream: our protocols frame their messages.
        unsafe shim_set_options(pointer)
        unsafe shim_set_mode(pointer, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        // One read call takes many records.
        unsafe shim_set_read_ahead(pointer)
        unsafe SSL_CTX_set_default_read_buffer_len(pointer, 65_536)
        // AES-128 first: the cheapest of the three on hardware with AES instructions.
        let suites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        unsafe SSL_CTX_set_ciphersuites(pointer, suites)
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }

    /// Verifies servers against the system's store and further certificates; offers the protocols.
    func prepareClient(extraCA: [UInt8]?) throws(TransportError) {
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        unsafe try Self.fillStore(of: pointer, extraCA: extraCA)
        ERR_clear_error()
        guard !wireProtocols.isEmpty else { return }
        guard unsafe SSL_CTX_set_alpn_protos(pointer, wireProtocols, UInt32(wireProtocols.count)) == 0 else {
            throw .unusable("the protocols \(protocols) cannot be offered: \(openSSLErrorText())")
        }
    }

    /// Trusts the system's store and the further certificates.
    static func fillStore(of context: OpaquePointer, extraCA: [UInt8]?) throws(TransportError) {
        unsafe SSL_CTX_set_default_verify_paths(context)
        defer { ERR_clear_error() }
        guard let extraCA else { return }
        let store = unsafe SSL_CTX_get_cert_store(context)
        for certificate in try Certificate.all(inPEM: extraCA) {
            guard unsafe X509_STORE_add_cert(store, certificate.pointer) == 1 else {
                throw .unusable("a CA certificate cannot be used: \(openSSLErrorText())")
            }
        }
    }

    /// Chooses the first of our protocols that the client offers; a client that offers none of them is refused.
    func prepareServer() {
        guard !wireProtocols.isEmpty else { return }
        // Safety: the context outlives its sessions, and the callback runs within a call to one of them.
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe SSL_CTX_set_alpn_select_cb(
            pointer,
            { _, chosen, chosenCount, offered, offeredCount, own in
                guard let own = unsafe own else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                let context = unsafe Unmanaged<TLSContext>.fromOpaque(own).takeUnretainedValue()
                return unsafe context.choose(chosen, chosenCount, offered, offeredCount)
            },
            own
        )
    }

    /// Asks clients for a certificate, and verifies what they show.
    func ask(_ clients: TLSServerContext.Clients) throws(TransportError) {
        let store = unsafe SSL_CTX_get_cert_store(pointer)
        for authority in try Certificate.all(inPEM: clients.authorityPEM) {
            guard unsafe X509_STORE_add_cert(store, authority.pointer) == 1,
                unsafe SSL_CTX_add_client_CA(pointer, authority.pointer) == 1
            else { throw .unusable("an authority of clients cannot be used: \(openSSLErrorText())") }
        }
        // Sessions with a verified client can be resumed only in a named context (SSL_CTX_set_session_id_context(3)).
        let name = Array("pushbridge".utf8)
        unsafe SSL_CTX_set_session_id_context(pointer, name, UInt32(name.count))
        unsafe shim_set_client_verification(pointer, clients.isDemanded ? 1 : 0)
    }

    private func choose(
        _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ chosenCount: UnsafeMutablePointer<UInt8>?,
        _ offered: UnsafePointer<UInt8>?,
        _ offeredCount: UInt32
    ) -> Int32 {
        let bytes = unsafe Array(unsafe UnsafeBufferPointer(start: offered, count: Int(offeredCount)))
        for name in protocols {
            let wanted = Array(name.utf8)
            var position = 0
            while position < bytes.count {
                let start = position + 1
                let end = min(start + Int(bytes[position]), bytes.count)
                if bytes[start..<end].elementsEqual(wanted) {
                    unsafe chosen?.pointee = offered?.advanced(by: start)
                    unsafe chosenCount?.pointee = UInt8(end - start)
                    return SSL_TLSEXT_ERR_OK
                }
                position = end
            }
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }

    /// Shows the certificate, with the rest of its chain, to peers.
    func use(chainPEM: [UInt8], keyPEM: [UInt8]) throws(TransportError) {
        let chain = try Certificate.all(inPEM: chainPEM)
        let key = try PrivateKey(pem: keyPEM)
        guard let leaf = chain.first, unsafe SSL_CTX_use_certificate(pointer, leaf.pointer) == 1 else {
            throw .unusable("the certificate cannot be used: \(openSSLErrorText())")
        }
        guard unsafe SSL_CTX_use_PrivateKey(pointer, key.pointer) == 1,
            unsafe SSL_CTX_check_private_key(pointer) == 1
        else {
            throw .unusable("the private key does not belong to the certificate: \(openSSLErrorText())")
        }
        for certificate in chain.dropFirst() {
            guard unsafe shim_add_chain_certificate(pointer, certificate.pointer) == 1 else {
                throw .unusable("the certificate chain cannot be used: \(openSSLErrorText())")
            }
        }
    }
}

/// How to connect with TLS 1.2 or later; the server's chain and name are always verified.
///
/// Trusts the system's store and `extraCA`. With protocols given, a server that agrees to none of them is refused.
package final class TLSClientContext: Sendable {
    let context: TLSContext

    package init(
        extraCA: [UInt8]? = nil,
        alpn: [String] = [],
        clientCertificate: CertifiedKey? = nil
    ) throws(TransportError) {
        context = try TLSContext(client: true, alpn: alpn)
        try context.prepareClient(extraCA: extraCA)
        guard let clientCertificate else { return }
        try context.use(chainPEM: clientCertificate.chainPEM, keyPEM: clientCertificate.keyPEM)
    }
}

/// How to accept TLS 1.2 or later, with the certificate to show and the protocols to choose from.
package final class TLSServerContext: Sendable {
    /// Which client certificates are asked for.
    package struct Clients: Sendable {
        /// Who must have signed them; PEM.
        package let authorityPEM: [UInt8]
        /// Whether clients without a certificate are refused.
        package let isDemanded: Bool

        package init(authorityPEM: [UInt8], isDemanded: Bool) {
            self.authorityPEM = authorityPEM
            self.isDemanded = isDemanded
        }
    }

    let context: TLSContext

    /// With `clients`, certificates that they show are verified; nil: none is asked for.
    package init(
        certificateChainPEM: [UInt8],
        keyPEM: [UInt8],
        alpn: [String] = [],
        clients: Clients? = nil
    ) throws(TransportError) {
        context = try TLSContext(client: false, alpn: alpn)
        try context.use(chainPEM: certificateChainPEM, keyPEM: keyPEM)
        context.prepareServer()
        if let clients { try context.ask(clients) }
    }
}
