internal import CNghttp2

/// What one side of a session announces about itself (RFC 9113 section 6.5.2).
package struct HTTP2Settings: Equatable, Sendable {
    /// Streams that the peer may have open; nil announces no limit.
    package var maximumConcurrentStreams: UInt32?
    /// The window of each stream.
    package var initialWindowSize: UInt32 = 65_535
    /// The window of the whole connection, at least 65,535; not a setting on the wire but a WINDOW_UPDATE.
    package var connectionWindowSize: Int32 = 65_535
    /// The most bytes of headers that are taken.
    package var maximumHeaderListSize: UInt32?

    package init(maximumConcurrentStreams: UInt32? = nil) {
        self.maximumConcurrentStreams = maximumConcurrentStreams
    }

    /// The entries of the SETTINGS frame.
    func entries(isClient: Bool) -> [nghttp2_settings_entry] {
        var entries: [nghttp2_settings_entry] = []
        func add(_ identifier: nghttp2_settings_id, _ value: UInt32) {
            entries.append(nghttp2_settings_entry(settings_id: Int32(identifier.rawValue), value: value))
        }
        if isClient { add(NGHTTP2_SETTINGS_ENABLE_PUSH, 0) }
        if let maximumConcurrentStreams { add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maximumConcurrentStreams) }
        if initialWindowSize != 65_535 {
            add(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, min(initialWindowSize, 0x7fff_ffff))
        }
        if let maximumHeaderListSize { add(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, maximumHeaderListSize) }
        return entries
    }
}
