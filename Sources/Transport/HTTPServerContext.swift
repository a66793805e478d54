internal import CMicrohttpd
import Glibc
import Synchronization

/// What libmicrohttpd's calls lead back to: the handler of an ``HTTPServer``.
///
/// The calls come on the library's thread.
final class HTTPServerContext: Sendable {
    private let maximumBodyBytes: Int
    private let handler: HTTPServer.Handler
    private let running = Atomic(false)

    init(maximumBodyBytes: Int, handler: @escaping HTTPServer.Handler) {
        self.maximumBodyBytes = maximumBodyBytes
        self.handler = handler
    }

    var isRunning: Bool {
        get { running.load(ordering: .acquiring) }
        set { running.store(newValue, ordering: .releasing) }
    }

    /// The body of one request while it comes in; owned by the library's request until `onCompleted`.
    private final class Exchange {
        var body: [UInt8] = []
        var isTooLarge = false
    }

    static let onRequest: MHD_AccessHandlerCallback = { context, connection, url, method, _, data, dataSize, state in
        guard let context = unsafe context, let connection = unsafe connection, let url = unsafe url,
            let method = unsafe method, let dataSize = unsafe dataSize, let state = unsafe state
        else { return .NO }
        guard let known = unsafe state.pointee else {
            unsafe state.pointee = Unmanaged.passRetained(Exchange()).toOpaque()
            return .YES
        }
        let own = unsafe Unmanaged<HTTPServerContext>.fromOpaque(context).takeUnretainedValue()
        let exchange = unsafe Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if unsafe dataSize.pointee > 0 {
            let part = unsafe UnsafeRawBufferPointer(start: data, count: dataSize.pointee)
            unsafe own.add(part, to: exchange)
            unsafe dataSize.pointee = 0
            return .YES
        }
        let request = unsafe HTTPServerRequest(
            method: String(cString: method),
            path: String(cString: url),
            query: pairs(connection, .GET_ARGUMENT_KIND),
            headers: pairs(connection, .HEADER_KIND).map { (name: $0.name.lowercased(), value: $0.value) },
            body: exchange.body
        )
        let response = exchange.isTooLarge ? own.tooLarge : own.handler(request)
        return unsafe send(response, on: connection)
    }

    static let onCompleted: MHD_RequestCompletedCallback = { _, _, state, _ in
        guard let known = unsafe state?.pointee else { return }
        unsafe Unmanaged<Exchange>.fromOpaque(known).release()
        unsafe state?.pointee = nil
    }

    private var tooLarge: HTTPServerResponse {
        HTTPServerResponse(status: 413, body: Array("the body has more than \(maximumBodyBytes) bytes\n".utf8))
    }

    private func add(_ part: UnsafeRawBufferPointer, to exchange: Exchange) {
        guard !exchange.isTooLarge, exchange.body.count + part.count <= maximumBodyBytes else {
            exchange.isTooLarge = true
            exchange.body = []
            return
        }
        unsafe exchange.body.append(contentsOf: part)
    }

    private static func send(_ response: HTTPServerResponse, on connection: OpaquePointer) -> MHD_Result {
        var body = response.body
        let made = unsafe body.withUnsafeMutableBytes { bytes in
            unsafe MHD_create_response_from_buffer(bytes.count, bytes.baseAddress, .RESPMEM_MUST_COPY)
        }
        guard let made = unsafe made else { return .NO }
        defer { unsafe MHD_destroy_response(made) }
        for (name, value) in [(name: "content-type", value: response.contentType)] + response.headers {
            _ = unsafe MHD_add_response_header(made, name, value)
        }
        return unsafe MHD_queue_response(connection, UInt32(clamping: response.status), made)
    }

    private static func pairs(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: String, value: String)] {
        final class Pairs {
            var list: [(name: String, value: String)] = []
        }
        let pairs = Pairs()
        // Safety: the library calls back only within this call.
        let pointer = unsafe Unmanaged.passUnretained(pairs).toOpaque()
        unsafe MHD_get_connection_values(
            connection,
            kind,
            { context, _, name, value in
                guard let context = unsafe context, let name = unsafe name else { return .NO }
                let text = unsafe value.map { unsafe String(cString: $0) } ?? ""
                unsafe Unmanaged<Pairs>.fromOpaque(context).takeUnretainedValue().list.append(
                    (name: String(cString: name), value: text)
                )
                return .YES
            },
            pointer
        )
        return pairs.list
    }
}
