internal import CNghttp2

/// Memory for the headers of the request being submitted, used again for the next one.
///
/// nghttp2 copies what is in here during the call; the constant headers it reads in the template's own memory.
@safe final class HeaderScratch {
    private var fields: UnsafeMutablePointer<nghttp2_nv>
    private var fieldCapacity = 32
    private var bytes: UnsafeMutablePointer<UInt8>
    private var byteCapacity = 2048

    init() {
        unsafe fields = .allocate(capacity: fieldCapacity)
        unsafe bytes = .allocate(capacity: byteCapacity)
    }

    deinit {
        unsafe fields.deallocate()
        unsafe bytes.deallocate()
    }

    /// Submits to the library; the stream's number, or a negative code.
    func submit(_ request: borrowing HTTP2Request, session: SessionCore, slot: Int, hasBody: Bool) -> Int32 {
        let template = request.template
        reserve(fields: template.headers.count, bytes: request.values.reduce(request.path.count) { $0 + $1.count })
        unsafe fields.update(from: template.headers.fields, count: template.headers.count)
        var end = set(template.pathIndex, request.path, at: 0)
        for (offset, value) in request.values.enumerated() {
            end = set(template.varyingIndex + offset, value, at: end)
        }
        guard hasBody else {
            return unsafe nghttp2_submit_request(
                session.pointer,
                nil,
                fields,
                template.headers.count,
                nil,
                SessionCore.userData(slot)
            )
        }
        var provider = unsafe nghttp2_data_provider(
            source: nghttp2_data_source(ptr: SessionCore.userData(slot)),
            read_callback: HTTP2ClientSession.readBody
        )
        return unsafe nghttp2_submit_request(
            session.pointer,
            nil,
            fields,
            template.headers.count,
            &provider,
            SessionCore.userData(slot)
        )
    }

    /// Points a field to a copy of the value; the end of the copies.
    private func set(_ index: Int, _ value: [UInt8], at start: Int) -> Int {
        unsafe value.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress else { return }
            unsafe (bytes + start).update(from: base, count: source.count)
        }
        unsafe fields[index].value = unsafe bytes + start
        unsafe fields[index].valuelen = value.count
        unsafe fields[index].flags &= ~UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
        return start + value.count
    }

    private func reserve(fields fieldCount: Int, bytes byteCount: Int) {
        if fieldCount > fieldCapacity {
            fieldCapacity = fieldCount * 2
            unsafe fields.deallocate()
            unsafe fields = .allocate(capacity: fieldCapacity)
        }
        if byteCount > byteCapacity {
            byteCapacity = byteCount * 2
            unsafe bytes.deallocate()
            unsafe bytes = .allocate(capacity: byteCapacity)
        }
    }
}
