internal import CNghttp2

/// Headers in the form that nghttp2 takes them, in memory that does not move: it refers to these bytes without a copy.
///
/// Whoever hands the block to nghttp2 keeps it alive until the frame has been serialised. Never changed once made,
/// except for the values of `varying` places, which each submission sets in its own copy of the array.
@safe final class HeaderBlock {
    /// The array that nghttp2 reads; `count` entries.
    let fields: UnsafeMutablePointer<nghttp2_nv>
    let count: Int
    private let bytes: UnsafeMutablePointer<UInt8>

    /// Names that Apple wants kept out of the compression table since each value is new (APNs: Sending notification
    /// requests to APNs, "HPACK"); `authorization` too, which must not be guessable from compressed sizes.
    private static let unindexed: Set<String> = [
        "authorization", "apns-id", "apns-expiration", "apns-collapse-id",
    ]

    init(_ headers: [HTTP2HeaderField]) {
        count = headers.count
        let size = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.count }
        unsafe bytes = .allocate(capacity: max(size, 1))
        unsafe fields = .allocate(capacity: max(headers.count, 1))
        var end = 0
        for (index, header) in headers.enumerated() {
            let name = end
            for byte in header.name.utf8 {
                unsafe bytes[end] = byte
                end += 1
            }
            let value = end
            for byte in header.value {
                unsafe bytes[end] = byte
                end += 1
            }
            var flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue) | UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
            if Self.unindexed.contains(header.name) { flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) }
            let field = unsafe nghttp2_nv(
                name: bytes + name,
                value: bytes + value,
                namelen: value - name,
                valuelen: end - value,
                flags: flags
            )
            unsafe (fields + index).initialize(to: field)
        }
    }

    deinit {
        unsafe fields.deallocate()
        unsafe bytes.deallocate()
    }
}
