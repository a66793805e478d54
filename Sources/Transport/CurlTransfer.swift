import CCurl
import COpenSSL
import Glibc

/// One request with libcurl; blocks, and is confined to the thread that runs it.
@safe final class CurlTransfer {
    private let request: HTTPSClient.Request
    private let easy: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var headerList: UnsafeMutablePointer<curl_slist>?

    private var head: [UInt8] = []
    private var body: [UInt8] = []
    /// What stopped the transfer from within a callback.
    private var refusal: TransportError?

    // Once, and thread-safe since libcurl 7.84.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(_ request: HTTPSClient.Request) throws(TransportError) {
        guard Self.isInitialised, let easy = unsafe curl_easy_init() else { throw .unusable("libcurl cannot be used") }
        self.request = request
        unsafe self.easy = easy
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe curl_slist_free_all(headerList)
        unsafe errorText.deallocate()
    }

    func run() throws(TransportError) -> HTTPSClient.Response {
        let url = try RequestURL(request.url)
        let isLoopback = try url.requireAllowed()
        setOptions(isLoopback: isLoopback)
        setProxy(isLoopback ? .none : request.proxy, url)
        setContent()
        setCallbacks()
        let code = unsafe curl_easy_perform(easy)
        if let refusal { throw refusal }
        guard code == CURLE_OK else { throw failure(code) }
        var status = 0
        unsafe shim_get_number(easy, CURLINFO_RESPONSE_CODE, &status)
        return HTTPSClient.Response(status: status, headers: parsedHead(), body: body)
    }

    private func setOptions(isLoopback: Bool) {
        unsafe shim_set_text(easy, CURLOPT_URL, request.url)
        unsafe shim_set_text(easy, CURLOPT_PROTOCOLS_STR, isLoopback ? "http,https" : "https")
        unsafe shim_set_number(easy, CURLOPT_FOLLOWLOCATION, 0)
        unsafe shim_set_number(easy, CURLOPT_NOSIGNAL, 1)
        let milliseconds = min(max(request.deadline.clampedMilliseconds, 1), 86_400_000)
        unsafe shim_set_number(easy, CURLOPT_TIMEOUT_MS, Int(milliseconds))
        unsafe shim_set_number(easy, CURLOPT_SSL_VERIFYPEER, 1)
        unsafe shim_set_number(easy, CURLOPT_SSL_VERIFYHOST, 2)
        unsafe shim_set_number(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        // The store is filled in the callback, as for the byte streams: OpenSSL's paths and the further certificates.
        unsafe shim_set_text(easy, CURLOPT_CAINFO, nil)
        unsafe shim_set_text(easy, CURLOPT_CAPATH, nil)
        unsafe shim_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
    }

    private func setProxy(_ proxy: HTTPSClient.Proxy, _ target: RequestURL) {
        switch proxy {
        case .environment: break
        case .none: unsafe shim_set_text(easy, CURLOPT_PROXY, "")
        case .url(let url): unsafe shim_set_text(easy, CURLOPT_PROXY, url)
        case .rules(let rules):
            let (host, port) = target.hostAndPort
            unsafe shim_set_text(easy, CURLOPT_PROXY, rules.proxy(toHost: host, port: port)?.url ?? "")
            // The rules have looked at the exceptions already.
            unsafe shim_set_text(easy, CURLOPT_NOPROXY, "")
        }
    }

    private func setContent() {
        if let body = request.body {
            unsafe shim_set_large_number(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            // With a byte more than is sent, for the address of nothing is no address.
            unsafe (body + [0]).withUnsafeBytes { bytes in
                _ = unsafe shim_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress)
            }
        }
        unsafe shim_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method)
        // No wait for "100 Continue".
        unsafe headerList = curl_slist_append(headerList, "Expect:")
        for (name, value) in request.headers { unsafe headerList = curl_slist_append(headerList, "\(name): \(value)") }
        unsafe shim_set_pointer(easy, CURLOPT_HTTPHEADER, headerList)
    }

    private func setCallbacks() {
        // Safety: the callbacks run within `curl_easy_perform`, during which this object is alive.
        let own = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe shim_set_pointer(easy, CURLOPT_WRITEDATA, own)
        unsafe shim_set_pointer(easy, CURLOPT_HEADERDATA, own)
        unsafe shim_set_pointer(easy, CURLOPT_SSL_CTX_DATA, own)
        unsafe shim_set_data_function(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, own in
            unsafe CurlTransfer.from(own)?.take(bytes, size &* count, into: \.body) ?? 0
        }
        unsafe shim_set_data_function(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, own in
            unsafe CurlTransfer.from(own)?.take(bytes, size &* count, into: \.head) ?? 0
        }
        unsafe shim_set_tls_function(easy) { _, context, own in
            guard let context = unsafe context else { return CURLE_SSL_CONNECT_ERROR }
            return unsafe CurlTransfer.from(own)?.fillStore(of: OpaquePointer(context)) ?? CURLE_SSL_CONNECT_ERROR
        }
    }

    private static func from(_ own: UnsafeMutableRawPointer?) -> CurlTransfer? {
        unsafe own.map { unsafe Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// A count other than the given one ends the transfer.
    private func take(
        _ bytes: UnsafeMutablePointer<CChar>?,
        _ count: Int,
        into part: ReferenceWritableKeyPath<CurlTransfer, [UInt8]>
    ) -> Int {
        guard self[keyPath: part].count + count <= request.maximumBytes else {
            refusal = .connection("the answer of \(request.url) is larger than \(request.maximumBytes) bytes")
            return 0
        }
        unsafe self[keyPath: part].append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    private func fillStore(of context: OpaquePointer) -> CURLcode {
        do throws(TransportError) {
            unsafe try TLSContext.fillStore(of: context, extraCA: request.extraCA)
            return CURLE_OK
        } catch {
            refusal = error
            return CURLE_SSL_CONNECT_ERROR
        }
    }

    /// Lines of the last header block, without the status line; an interim answer (1xx) has a block of its own.
    private func parsedHead() -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for line in String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline) {
            if line.hasPrefix("HTTP/") {
                headers = []
            } else if let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
                headers.append((String(line[..<colon]), String(value)))
            }
        }
        return headers
    }

    private func failure(_ code: CURLcode) -> TransportError {
        let detail = unsafe String(cString: errorText)
        let text = detail.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : detail
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return .resolution(host: request.url, reason: text)
        case CURLE_OPERATION_TIMEDOUT:
            return .deadline("the request to \(request.url) took longer than \(request.deadline)")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION: return .tls("\(request.url): \(text)")
        default: return .connection("\(request.url): \(text)")
        }
    }
}

/// The URL of a request, taken apart by the parser that also sends it.
@safe private final class RequestURL {
    private let text: String
    private let parts: OpaquePointer

    init(_ text: String) throws(TransportError) {
        guard let parts = unsafe curl_url() else { throw .unusable("libcurl cannot be used") }
        self.text = text
        unsafe self.parts = parts
        guard unsafe curl_url_set(parts, CURLUPART_URL, text, 0) == CURLUE_OK else {
            throw .unusable("\(text) is not a URL with https://")
        }
    }

    deinit {
        unsafe curl_url_cleanup(parts)
    }

    /// Whether the host is a loopback address; throws if the URL must not be asked.
    func requireAllowed() throws(TransportError) -> Bool {
        let scheme = part(CURLUPART_SCHEME)
        let host = part(CURLUPART_HOST)
        guard part(CURLUPART_USER) == nil, part(CURLUPART_PASSWORD) == nil else {
            throw .unusable("the URL must not have a user or password in it")
        }
        // libcurl itself makes sure that "localhost" is a loopback address.
        let isLoopback = host == "localhost" || host == "[::1]" || host.map(Self.isLoopbackAddress) == true
        guard scheme == "https" || (scheme == "http" && isLoopback) else {
            throw .unusable("\(text) must begin with https:// (http:// is for loopback addresses only)")
        }
        return isLoopback
    }

    /// Where the request leads to; an IPv6 address without brackets.
    var hostAndPort: (String, UInt16) {
        var host = part(CURLUPART_HOST) ?? ""
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        return (host, part(CURLUPART_PORT).flatMap { UInt16($0) } ?? 443)
    }

    private func part(_ what: CURLUPart) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(parts, what, &value, 0) == CURLUE_OK, let value = unsafe value else { return nil }
        defer { unsafe curl_free(value) }
        return unsafe String(cString: value)
    }

    /// 127.0.0.0/8, written with four numbers.
    private static func isLoopbackAddress(_ host: String) -> Bool {
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return numbers.count == 4 && numbers.first == 127 && !numbers.contains(nil)
    }
}
