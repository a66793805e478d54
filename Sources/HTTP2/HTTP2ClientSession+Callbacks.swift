internal import CNghttp2
import Glibc

/// What nghttp2 calls while it reads and writes; each finds its session behind the user data.
///
/// Safety: the session object owns the library's session, which calls back only inside the object's own methods.
extension HTTP2ClientSession {
    static func setCallbacks(_ callbacks: OpaquePointer) {
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onClose)
        unsafe nghttp2_session_callbacks_set_error_callback2(callbacks, onError)
    }

    /// Copies the next part of a request's body into the frame.
    static let readBody: nghttp2_data_source_read_callback = { _, streamID, buffer, length, flags, source, context in
        guard let context = unsafe context, let buffer = unsafe buffer, let flags = unsafe flags,
            let index = unsafe SessionCore.slot(source?.pointee.ptr)
        else { return Int(NGHTTP2Code.callbackFailure.rawValue) }
        return unsafe Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: length)
            return unsafe session.readBody(of: streamID, index, into: room, flags)
        }
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
        guard let context = unsafe context, let frame = unsafe frame, let name = unsafe name else { return 0 }
        unsafe Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            unsafe session.received(
                name: UnsafeBufferPointer(start: name, count: nameCount),
                value: UnsafeBufferPointer(start: value, count: valueCount),
                streamID: frame.pointee.hd.stream_id
            )
        }
        return 0
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, streamID, data, count, context in
        guard let context = unsafe context, let data = unsafe data else { return 0 }
        unsafe Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            guard let index = session.core.slot(of: streamID) else { return }
            let room = maximumResponseBytes - session.requests.items[index].responseBody.count
            unsafe session.requests.items[index].responseBody.append(
                contentsOf: UnsafeBufferPointer(start: data, count: min(count, room))
            )
        }
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, context in
        guard let context = unsafe context, let frame = unsafe frame else { return 0 }
        unsafe Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            unsafe session.received(frame)
        }
        return 0
    }

    private static let onClose: nghttp2_on_stream_close_callback = { _, streamID, code, context in
        guard let context = unsafe context else { return 0 }
        unsafe Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            session.closed(streamID, HTTP2ErrorCode(rawValue: code))
        }
        return 0
    }

    private static let onError: nghttp2_error_callback2 = { _, _, text, count, context in
        guard let context = unsafe context, let text = unsafe text else { return 0 }
        unsafe Unmanaged<HTTP2ClientSession>.fromOpaque(context)._withUnsafeGuaranteedRef { session in
            session.lastErrorText = unsafe String(
                decoding: UnsafeRawBufferPointer(start: text, count: count),
                as: UTF8.self
            )
        }
        return 0
    }
}

extension HTTP2ClientSession {
    private func readBody(
        of streamID: Int32,
        _ index: Int,
        into buffer: UnsafeMutableRawBufferPointer,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        // A stream that was reset has given its slot back, and another may have it.
        guard index >= 0, index < requests.items.count, requests.items[index].streamID == streamID else {
            return Int(NGHTTP2Code.streamFailure.rawValue)
        }
        let offset = requests.items[index].bodyOffset
        let total = requests.items[index].body.count
        let count = min(total - offset, buffer.count, bytesToCredit)
        bytesToCredit = bytesToCredit == count ? Self.creditStep : bytesToCredit - count
        unsafe requests.items[index].body.withUnsafeBytes { body in
            guard let source = body.baseAddress, let target = buffer.baseAddress else { return }
            unsafe memcpy(target, source + offset, count)
        }
        requests.items[index].bodyOffset = offset + count
        queuedBodyBytes -= count
        if offset + count == total {
            unsafe flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
            // 9: the frame's header (RFC 9113 section 4.1).
            requests.items[index].endOffset = core.outputCount &+ UInt64(count + 9)
        }
        return count
    }

    private func received(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>, streamID: Int32) {
        // `:status` comes first and is the only pseudo-header of an answer (RFC 9113 section 8.3.2).
        if name.count == 7, unsafe name[0] == UInt8(ascii: ":") {
            let status = unsafe value.prefix(3).reduce(0) { $0 &* 10 &+ Int($1) &- 0x30 }
            currentStatus = status
            guard let index = core.slot(of: streamID) else { return }
            requests.items[index].status = status
            // A final answer may come after informational ones (RFC 9110 section 15.2), with their own headers.
            if !requests.items[index].responseHeaders.isEmpty { requests.items[index].responseHeaders = [] }
            return
        }
        guard currentStatus != 200 || keepsAllHeaders, let index = core.slot(of: streamID) else { return }
        // A few compressed bytes can stand for thousands each (RFC 7541 section 7.3).
        guard requests.items[index].responseHeaders.count < Self.maximumHeaderCount,
            value.count <= Self.maximumHeaderBytes
        else { return }
        unsafe requests.items[index].responseHeaders.append(HTTP2HeaderField(name: name, value: value))
    }

    private func received(_ frame: UnsafePointer<nghttp2_frame>) {
        let header = unsafe frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0 else { return }
            guard let index = core.slot(of: header.stream_id) else { return }
            requests.items[index].isComplete = true
        case NGHTTP2_SETTINGS.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { settingsReceived() }
        case NGHTTP2_WINDOW_UPDATE.rawValue:
            if header.stream_id == 0 { creditReceived(Int(unsafe frame.pointee.window_update.window_size_increment)) }
        case NGHTTP2_GOAWAY.rawValue:
            let announced = unsafe HTTP2GoAway(frame.pointee)
            goAway = announced
            handler?.session(self, received: announced)
        default: break
        }
    }

    private func closed(_ streamID: Int32, _ code: HTTP2ErrorCode) {
        guard let index = core.slot(of: streamID), requests.items[index].streamID == streamID else { return }
        if requests.items[index].isComplete {
            let slot = remove(index)
            handler?.session(
                self,
                request: slot.tag,
                answered: HTTP2Response(status: slot.status, body: slot.responseBody, headers: slot.responseHeaders)
            )
        } else if code == .refusedStream {
            fail(index, .notProcessed(reason: goAway == nil ? "REFUSED_STREAM" : "GOAWAY"))
        } else {
            fail(index, .unanswered(reason: "the peer reset the stream: \(code)"))
        }
    }
}
