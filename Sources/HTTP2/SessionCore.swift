internal import CNghttp2

/// The nghttp2 session under a client or a server: bytes in, bytes out, and what both sides do alike.
///
/// Confined to one thread. Owns the library's session and frees it; its callbacks
/// run inside `receive` and `drain` only.
@safe final class SessionCore {
    let pointer: OpaquePointer
    /// Bytes that the session has put out so far; during a callback of `drain`, where the frame at hand begins.
    private(set) var outputCount: UInt64 = 0

    init(isClient: Bool, ignoresPings: Bool = false, setCallbacks: (OpaquePointer) -> Void) throws(HTTP2Error) {
        var callbacks: OpaquePointer?
        try NGHTTP2Code.check(Int(unsafe nghttp2_session_callbacks_new(&callbacks)))
        defer { unsafe nghttp2_session_callbacks_del(callbacks) }
        guard let callbacks = unsafe callbacks else { throw .session("no memory") }
        unsafe setCallbacks(callbacks)
        var option: OpaquePointer?
        try NGHTTP2Code.check(Int(unsafe nghttp2_option_new(&option)))
        defer { unsafe nghttp2_option_del(option) }
        // Closed streams are of use for priorities only, which neither APNs nor FCM want.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        if ignoresPings { unsafe nghttp2_option_set_no_auto_ping_ack(option, 1) }
        var session: OpaquePointer?
        let result =
            unsafe isClient
            ? nghttp2_session_client_new2(&session, callbacks, nil, option)
            : nghttp2_session_server_new2(&session, callbacks, nil, option)
        try NGHTTP2Code.check(Int(result))
        guard let session = unsafe session else { throw .session("no memory") }
        unsafe pointer = session
    }

    deinit {
        unsafe nghttp2_session_del(pointer)
    }

    /// What the callbacks get; it owns this object, so it outlives every callback.
    func setUserData(_ owner: AnyObject) {
        unsafe nghttp2_session_set_user_data(pointer, Unmanaged.passUnretained(owner).toOpaque())
    }

    /// Takes bytes of the peer; throws when the session cannot go on.
    func receive(_ bytes: RawSpan) throws(HTTP2Error) {
        guard bytes.byteCount > 0 else { return }
        let result = unsafe bytes.withUnsafeBytes { buffer in
            unsafe nghttp2_session_mem_recv(
                pointer,
                buffer.baseAddress?.assumingMemoryBound(to: UInt8.self),
                buffer.count
            )
        }
        try NGHTTP2Code.check(result)
    }

    /// Serialises all frames that may be sent now and hands them over one by one.
    func drain(_ sink: (RawSpan) -> Void) throws(HTTP2Error) {
        while true {
            var frame: UnsafePointer<UInt8>?
            let size = try NGHTTP2Code.check(unsafe nghttp2_session_mem_send(pointer, &frame))
            guard size > 0, let start = unsafe frame else { return }
            sink(unsafe UnsafeRawBufferPointer(start: start, count: size).bytes)
            outputCount &+= UInt64(size)
        }
    }

    /// Whether the session has nothing more to say or hear: the connection can be closed.
    var isFinished: Bool {
        unsafe nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
    }

    /// Whether there is output to drain.
    var wantsToWrite: Bool { unsafe nghttp2_session_want_write(pointer) != 0 }

    func submit(_ settings: HTTP2Settings, isClient: Bool) throws(HTTP2Error) {
        let entries = settings.entries(isClient: isClient)
        let result = unsafe nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
        try NGHTTP2Code.check(Int(result))
        guard settings.connectionWindowSize > 65_535 else { return }
        let window = unsafe nghttp2_session_set_local_window_size(pointer, 0, 0, settings.connectionWindowSize)
        try NGHTTP2Code.check(Int(window))
    }

    func submitMaximumConcurrentStreams(_ count: UInt32) {
        let entry = nghttp2_settings_entry(
            settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
            value: count
        )
        _ = unsafe nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), [entry], 1)
    }

    func submitPing() {
        _ = unsafe nghttp2_submit_ping(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    func submitReset(_ streamID: Int32, _ code: HTTP2ErrorCode) {
        _ = unsafe nghttp2_submit_rst_stream(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), streamID, code.rawValue)
    }

    /// The last stream that the peer has opened and that was looked at.
    var lastReceivedStream: Int32 { unsafe nghttp2_session_get_last_proc_stream_id(pointer) }

    func submitGoAway(lastStreamID: Int32, code: HTTP2ErrorCode, debugData: [UInt8]) {
        _ = unsafe nghttp2_submit_goaway(
            pointer,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            lastStreamID,
            code.rawValue,
            debugData,
            debugData.count
        )
    }

    /// DATA bytes that the peer's connection window still takes.
    var remoteWindow: Int { Int(unsafe nghttp2_session_get_remote_window_size(pointer)) }

    /// How many streams the peer allows, without a limit of its own `UInt32.max`.
    var remoteMaximumConcurrentStreams: UInt32 {
        unsafe nghttp2_session_get_remote_settings(pointer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// What a stream's slot index looks like as the library's user data; never nil.
    static func userData(_ slot: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: slot &+ 1)
    }

    /// The slot index behind a stream's user data.
    static func slot(_ userData: UnsafeMutableRawPointer?) -> Int? {
        guard let userData = unsafe userData else { return nil }
        return Int(bitPattern: userData) &- 1
    }

    /// The stream goes on without a slot.
    func forgetSlot(of streamID: Int32) {
        _ = unsafe nghttp2_session_set_stream_user_data(pointer, streamID, nil)
    }

    /// The stream has that slot from now on.
    func setSlot(_ slot: Int, of streamID: Int32) {
        _ = unsafe nghttp2_session_set_stream_user_data(pointer, streamID, Self.userData(slot))
    }

    /// The slot of a stream, nil if it is gone or never had one.
    func slot(of streamID: Int32) -> Int? {
        unsafe Self.slot(nghttp2_session_get_stream_user_data(pointer, streamID))
    }
}

extension HTTP2GoAway {
    /// The content of a received GOAWAY frame.
    init(_ frame: nghttp2_frame) {
        let content = unsafe frame.goaway
        self.init(
            lastStreamID: unsafe content.last_stream_id,
            errorCode: HTTP2ErrorCode(rawValue: unsafe content.error_code),
            debugData: unsafe Array(UnsafeBufferPointer(start: content.opaque_data, count: content.opaque_data_len))
        )
    }
}
