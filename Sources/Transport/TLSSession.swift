import COpenSSL
import Glibc

/// One TLS connection over a socket that a stream owns; confined to the stream's loop.
@safe final class TLSSession {
    enum Handshake {
        case done
        case wantsInput
        case wantsOutput
        case failed(TransportError)
    }

    private static let largestRecord = 16_384

    private let ssl: OpaquePointer
    private let isClient: Bool
    private let protocols: [String]

    /// For a client, `serverName` is the name or IP address that the certificate must carry.
    init(_ context: TLSContext, socket: Int32, serverName: String?) throws(TransportError) {
        ERR_clear_error()
        guard let ssl = unsafe SSL_new(context.pointer) else { throw .tls(openSSLErrorText()) }
        unsafe self.ssl = ssl
        protocols = context.protocols
        isClient = serverName != nil
        unsafe SSL_set_fd(ssl, socket)
        guard let serverName else {
            unsafe SSL_set_accept_state(ssl)
            return
        }
        unsafe SSL_set_connect_state(ssl)
        try requireName(serverName)
    }

    deinit {
        unsafe SSL_free(ssl)
    }

    private func requireName(_ name: String) throws(TransportError) {
        let parameters = unsafe SSL_get0_param(ssl)
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, name) == 1 { return }
        ERR_clear_error()
        unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard !name.isEmpty, unsafe SSL_set1_host(ssl, name) == 1, unsafe shim_set_server_name(ssl, name) == 1 else {
            throw .tls("the server name \(name) cannot be used: \(openSSLErrorText())")
        }
    }

    func handshake() -> Handshake {
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        if result == 1 { return checkProtocol() }
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsInput
        case SSL_ERROR_WANT_WRITE: return .wantsOutput
        case SSL_ERROR_ZERO_RETURN: return .failed(.tls("the peer ended the connection during the handshake"))
        case SSL_ERROR_SYSCALL: return .failed(.tls("handshake: \(systemFailureText())"))
        default: return .failed(.tls("handshake: \(handshakeFailureText())"))
        }
    }

    /// A server that ignores ALPN speaks HTTP/1.1, if anything that we offered.
    private func checkProtocol() -> Handshake {
        guard isClient, !protocols.isEmpty, negotiatedProtocol == nil, !protocols.contains("http/1.1") else {
            return .done
        }
        return .failed(.tls("handshake: the server does not offer the protocol \(protocols.joined(separator: " or "))"))
    }

    /// The protocol that both sides agreed on (ALPN, RFC 7301).
    var negotiatedProtocol: String? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &bytes, &count)
        guard let bytes = unsafe bytes, count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }

    /// What the peer's certificate says; nil when it showed none.
    var peerCertificate: CertificateFacts? {
        guard let pointer = unsafe SSL_get0_peer_certificate(ssl), unsafe X509_up_ref(pointer) == 1 else { return nil }
        return unsafe CertificateFacts(Certificate(owning: pointer))
    }

    /// The protocol version, as "TLSv1.3".
    var version: String {
        unsafe String(cString: SSL_get_version(ssl))
    }

    /// Whether the session holds bytes that it has taken from the socket; also a part of a record.
    var hasPendingInput: Bool {
        unsafe SSL_has_pending(ssl) == 1
    }

    /// Reads one record at most.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
        ERR_clear_error()
        let count = unsafe SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
        if count > 0 { return Transfer(count: Int(count), end: .none) }
        return Transfer(count: 0, end: unsafe end(SSL_get_error(ssl, count), blocked: SSL_ERROR_WANT_READ))
    }

    /// Writes records until the socket is full or everything is sent.
    func write(_ output: OutputBuffer) -> Transfer {
        unsafe output.withWaiting { waiting in
            var total = 0
            while total < waiting.count {
                ERR_clear_error()
                // A repeated write after a blocked one has at least the same bytes, as OpenSSL demands: output only
                // grows at its end.
                let size = Int32(min(waiting.count - total, Self.largestRecord))
                let count = unsafe SSL_write(ssl, waiting.baseAddress?.advanced(by: total), size)
                guard count > 0 else {
                    let end = unsafe end(SSL_get_error(ssl, count), blocked: SSL_ERROR_WANT_WRITE)
                    return Transfer(count: total, end: end)
                }
                total += Int(count)
            }
            return Transfer(count: total, end: .none)
        }
    }

    /// Tells the peer that nothing more will come; best effort.
    func sendClose() {
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func end(_ code: Int32, blocked: Int32) -> Transfer.End {
        switch code {
        case blocked: .blocked
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: .wantsOpposite
        case SSL_ERROR_ZERO_RETURN: .ended
        case SSL_ERROR_SYSCALL: .failed(.connection(systemFailureText()))
        default: .failed(recordFailure())
        }
    }

    private func systemFailureText() -> String {
        let code = errno
        let queued = openSSLErrorText()
        return code != 0 ? systemErrorText(code) : queued
    }

    /// A peer that refuses our handshake after its end (TLS 1.3: a missing client certificate) is a TLS error too.
    private func recordFailure() -> TransportError {
        .tls(openSSLErrorText())
    }

    private func handshakeFailureText() -> String {
        let text = openSSLErrorText()
        let result = unsafe SSL_get_verify_result(ssl)
        guard isClient, result != Int(X509_V_OK) else { return text }
        let reason = unsafe String(cString: X509_verify_cert_error_string(result))
        return "the server's certificate is not accepted: \(reason)"
    }
}

/// The texts of OpenSSL's error queue of this thread, which is empty afterwards.
func openSSLErrorText() -> String {
    var texts: [String] = []
    while true {
        let code = ERR_get_error()
        if code == 0 { break }
        guard let reason = unsafe ERR_reason_error_string(code) else {
            texts.append("error \(code)")
            continue
        }
        let text = unsafe String(cString: reason)
        if texts.last != text { texts.append(text) }
    }
    return texts.isEmpty ? "unknown error" : texts.joined(separator: "; ")
}
