import Glibc

/// Bytes that wait to be sent: one array with a read position, so that partial writes move nothing.
struct OutputBuffer {
    // Memory beyond this is given back once everything is sent.
    private static let keptCapacity = 262_144
    // Sent bytes are cut off once there are this many, and they are the larger part.
    private static let compactionThreshold = 65_536

    private var bytes: [UInt8] = []
    private var sentCount = 0

    var count: Int { bytes.count - sentCount }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: UnsafeRawBufferPointer) {
        unsafe bytes.append(contentsOf: more)
    }

    mutating func append(_ more: [UInt8]) {
        bytes.append(contentsOf: more)
    }

    mutating func removeAll() {
        bytes = []
        sentCount = 0
    }

    /// Marks the first waiting bytes as sent.
    mutating func consume(_ count: Int) {
        sentCount += count
        if sentCount == bytes.count {
            sentCount = 0
            if bytes.capacity > Self.keptCapacity { bytes = [] } else { bytes.removeAll(keepingCapacity: true) }
        } else if sentCount > Self.compactionThreshold, sentCount > bytes.count / 2 {
            bytes.removeSubrange(0..<sentCount)
            sentCount = 0
        }
    }

    /// The bytes that wait.
    func withWaiting<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[sentCount...])) }
    }

    /// Sends once to a socket.
    func send(to socket: Int32) -> Transfer {
        unsafe withWaiting { waiting in
            let count = retryingInterrupts {
                unsafe Glibc.send(socket, waiting.baseAddress, waiting.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return Transfer(count: count, end: count < waiting.count ? .blocked : .none) }
            if errno == EAGAIN { return Transfer(count: 0, end: .blocked) }
            return Transfer(count: 0, end: .failed(.connection(systemErrorText(errno))))
        }
    }
}
