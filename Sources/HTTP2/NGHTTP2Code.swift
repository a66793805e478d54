internal import CNghttp2

/// A result code of the nghttp2 library (`nghttp2_error`); negative codes are errors.
struct NGHTTP2Code: RawRepresentable, Equatable {
    let rawValue: Int32

    /// NGHTTP2_ERR_CALLBACK_FAILURE: what a callback returns to end the session.
    static let callbackFailure = NGHTTP2Code(rawValue: -902)
    /// NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE: what a callback returns to reset its stream only.
    static let streamFailure = NGHTTP2Code(rawValue: -521)

    /// The library's own words for the code.
    var text: String {
        guard let words = unsafe nghttp2_strerror(rawValue) else { return "nghttp2 error \(rawValue)" }
        return unsafe String(cString: words)
    }

    /// Throws if a result of the library is an error.
    @discardableResult
    static func check(_ result: Int) throws(HTTP2Error) -> Int {
        guard result < 0 else { return result }
        throw .session(NGHTTP2Code(rawValue: Int32(clamping: result)).text)
    }
}
