internal import CMicrohttpd
import Dispatch
import Synchronization

/// What libmicrohttpd's calls lead back to: the handler of an ``HTTPServer``.
///
/// The calls come on the library's thread.
final class HTTPServerContext: Sendable {
    private let maximumBodyBytes: Int
    private let handler: HTTPServer.Handler
    // So much of a body that is too large is read to its end: many clients read no answer before they have sent all.
    private let drainedBytes: Int
    private let load = Mutex(Load())
    private let lastAnswer = DispatchSemaphore(value: 0)

    init(maximumBodyBytes: Int, handler: @escaping HTTPServer.Handler) {
        self.maximumBodyBytes = maximumBodyBytes
        let (sum, overflow) = maximumBodyBytes.addingReportingOverflow(16 << 20)
        drainedBytes = overflow ? .max : sum
        self.handler = handler
    }

    private struct Load {
        /// Requests whose handler has begun and whose answer is not yet sent.
        var unanswered = 0
        var hasEnded = false
    }

    /// Waits until what runs is answered; true for the first caller only.
    func end(answersWithin deadline: Duration) -> Bool {
        let unanswered: Int? = load.withLock { load in
            guard !load.hasEnded else { return nil }
            load.hasEnded = true
            return load.unanswered
        }
        guard let unanswered else { return false }
        // Too late or not, the library closes the connections next.
        if unanswered > 0 { _ = lastAnswer.wait(timeout: .now() + .nanoseconds(Int(deadline.clampedNanoseconds))) }
        return true
    }

    private func countAnswered() {
        let isLast = load.withLock { load in
            load.unanswered -= 1
            return load.hasEnded && load.unanswered == 0
        }
        if isLast { lastAnswer.signal() }
    }

    /// The body of one request while it comes in; owned by the library's request until `onCompleted`.
    private final class Exchange {
        var isHandled = false
        var body: [UInt8] = []
        var receivedBytes = 0
    }

    static let onRequest: MHD_AccessHandlerCallback = { context, connection, url, method, _, data, dataSize, state in
        guard let context = unsafe context, let connection = unsafe connection, let url = unsafe url,
            let method = unsafe method, let dataSize = unsafe dataSize, let state = unsafe state
        else { return .NO }
        let own = unsafe Unmanaged<HTTPServerContext>.fromOpaque(context).takeUnretainedValue()
        guard let known = unsafe state.pointee else {
            unsafe state.pointee = Unmanaged.passRetained(Exchange()).toOpaque()
            return unsafe own.isHopeless(connection) ? send(own.tooLarge, on: connection) : .YES
        }
        let exchange = unsafe Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
        if unsafe dataSize.pointee > 0 {
            let part = unsafe UnsafeRawBufferPointer(start: data, count: dataSize.pointee)
            unsafe dataSize.pointee = 0
            return unsafe own.add(part, to: exchange) ? .YES : .NO
        }
        guard exchange.receivedBytes <= own.maximumBodyBytes else { return unsafe send(own.tooLarge, on: connection) }
        let request = unsafe HTTPServerRequest(
            method: String(cString: method),
            path: String(cString: url),
            query: pairs(connection, .GET_ARGUMENT_KIND),
            headers: pairs(connection, .HEADER_KIND).map { (name: $0.name.lowercased(), value: $0.value) },
            body: exchange.body
        )
        exchange.isHandled = true
        own.load.withLock { $0.unanswered += 1 }
        return unsafe send(own.handler(request), on: connection)
    }

    static let onCompleted: MHD_RequestCompletedCallback = { context, _, state, _ in
        guard let context = unsafe context, let known = unsafe state?.pointee else { return }
        unsafe state?.pointee = nil
        guard unsafe Unmanaged<Exchange>.fromOpaque(known).takeRetainedValue().isHandled else { return }
        unsafe Unmanaged<HTTPServerContext>.fromOpaque(context).takeUnretainedValue().countAnswered()
    }

    private var tooLarge: HTTPServerResponse {
        HTTPServerResponse(status: 413, body: Array("the body has more than \(maximumBodyBytes) bytes\n".utf8))
    }

    /// Whether the header tells of a body that need not be sent.
    ///
    /// It is over the maximum, and the client waits for leave to send it or it is far too large.
    private func isHopeless(_ connection: OpaquePointer) -> Bool {
        // The library has refused what is no number; one that does not fit here is too large as well.
        guard let length = unsafe Self.header("content-length", of: connection) else { return false }
        let count = Int(length) ?? .max
        let isAsking = unsafe Self.header("expect", of: connection)?.lowercased() == "100-continue"
        return count > maximumBodyBytes && (isAsking || count > drainedBytes)
    }

    /// False if the connection must be closed: the body has no end.
    private func add(_ part: UnsafeRawBufferPointer, to exchange: Exchange) -> Bool {
        exchange.receivedBytes &+= part.count
        if exchange.receivedBytes <= maximumBodyBytes {
            unsafe exchange.body.append(contentsOf: part)
        } else {
            exchange.body = []
        }
        return exchange.receivedBytes <= drainedBytes
    }

    private static func header(_ name: String, of connection: OpaquePointer) -> String? {
        guard let value = unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, name) else { return nil }
        return unsafe String(cString: value)
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
