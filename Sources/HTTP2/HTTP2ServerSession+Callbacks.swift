internal import CNghttp2
import Glibc

/// What nghttp2 calls while it reads and writes; each finds its session behind the user data.
///
/// Safety: the session object owns the library's session, which calls back only inside the object's own methods.
extension HTTP2ServerSession {
    static func setCallbacks(_ callbacks: OpaquePointer, keepsRequests: Bool) {
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, onBegin)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onClose)
        guard keepsRequests else { return }
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
    }

    /// Copies the next part of a response's body into the frame.
    static let readBody: nghttp2_data_source_read_callback = { _, streamID, buffer, length, flags, source, context in
        guard let context = unsafe context, let buffer = unsafe buffer, let flags = unsafe flags,
            let index = unsafe SessionCore.slot(source?.pointee.ptr)
        else { return Int(NGHTTP2Code.callbackFailure.rawValue) }
        return unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length)
            return unsafe session.readBody(of: streamID, index, into: room, flags)
        }
    }

    private static let onBegin: nghttp2_on_begin_headers_callback = { _, frame, context in
        guard let context = unsafe context, let frame = unsafe frame else { return 0 }
        unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            // Trailers begin a header block too; they belong to a stream that is known.
            guard unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return }
            session.began(unsafe frame.pointee.hd.stream_id)
        }
        return 0
    }

    private static let onHeader: nghttp2_on_header_callback = {
        _,
        frame,
        name,
        nameCount,
        value,
        valueCount,
        _,
        context in
        guard let context = unsafe context, let frame = unsafe frame else { return 0 }
        unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            guard let index = session.core.slot(of: unsafe frame.pointee.hd.stream_id) else { return }
            let header = unsafe HTTP2HeaderField(
                name: UnsafeBufferPointer(start: name, count: nameCount),
                value: UnsafeBufferPointer(start: value, count: valueCount)
            )
            session.streams.items[index].request.add(header)
        }
        return 0
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, streamID, data, count, context in
        guard let context = unsafe context, let data = unsafe data else { return 0 }
        unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            guard let index = session.core.slot(of: streamID) else { return }
            let room = maximumRequestBytes - session.streams.items[index].request.body.count
            unsafe session.streams.items[index].request.body.append(
                contentsOf: UnsafeBufferPointer(start: data, count: min(count, room))
            )
            session.streams.items[index].request.bodyCount += count
        }
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, context in
        guard let context = unsafe context, let header = unsafe frame?.pointee.hd else { return 0 }
        guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
            UInt32(header.type) == NGHTTP2_DATA.rawValue || UInt32(header.type) == NGHTTP2_HEADERS.rawValue
        else { return 0 }
        unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            session.completed(header.stream_id)
        }
        return 0
    }

    private static let onClose: nghttp2_on_stream_close_callback = { _, streamID, _, context in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<HTTP2ServerSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            session.closed(streamID)
        }
        return 0
    }
}

extension HTTP2ServerSession {
    private func completed(_ streamID: Int32) {
        // The library itself refuses them only once the GOAWAY is drained.
        guard streamID <= goAwayLimit else { return }
        guard keepsRequests else {
            handler?.session(self, receivedOn: streamID)
            return
        }
        guard let index = core.slot(of: streamID) else { return }
        handler?.session(self, received: streams.items[index].request)
    }

    private func readBody(
        of streamID: Int32,
        _ index: Int,
        into buffer: UnsafeMutableRawBufferPointer,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard index >= 0, index < streams.items.count, streams.items[index].request.streamID == streamID else {
            return Int(NGHTTP2Code.streamFailure.rawValue)
        }
        let offset = streams.items[index].responseOffset
        let total = streams.items[index].response.count
        let count = min(total - offset, buffer.count)
        unsafe streams.items[index].response.withUnsafeBytes { body in
            guard let source = body.baseAddress, let target = buffer.baseAddress else { return }
            unsafe memcpy(target, source + offset, count)
        }
        streams.items[index].responseOffset = offset + count
        if offset + count == total { unsafe flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
        return count
    }
}
