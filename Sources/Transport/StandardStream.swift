import Glibc

/// Standard output and standard error, written to without buffers in between.
package enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all bytes, a line in one call where the system takes it; false when the reader has gone.
    ///
    /// Any thread. May wait while a pipe is full. SIGPIPE must be ignored.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var written = 0
        while written < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(rawValue, buffer.baseAddress.map { unsafe $0 + written }, buffer.count - written)
            }
            if count >= 0 {
                written += count
            } else if errno == EAGAIN {
                var state = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&state, 1, 1000)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Writes a text as UTF-8.
    @discardableResult
    package func write(_ text: String) -> Bool {
        write(Array(text.utf8))
    }
}
