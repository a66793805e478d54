import Glibc

extension RawSpan {
    /// A copy of the bytes.
    package var copiedBytes: [UInt8] {
        unsafe withUnsafeBytes { unsafe [UInt8]($0) }
    }

    /// Whether the bytes are the same as an array's.
    package func equals(_ bytes: [UInt8]) -> Bool {
        guard byteCount == bytes.count else { return false }
        guard byteCount > 0 else { return true }
        return unsafe withUnsafeBytes { left in
            unsafe bytes.withUnsafeBytes { right in
                guard let leftBase = left.baseAddress, let rightBase = right.baseAddress else { return false }
                return unsafe memcmp(leftBase, rightBase, right.count) == 0
            }
        }
    }
}

extension [UInt8] {
    /// Lends the bytes as a span, for callers that may not say `unsafe`.
    package func withRawSpan<Result>(_ body: (RawSpan) -> Result) -> Result {
        unsafe body(span.bytes)
    }
}
