import Glibc

/// What became of an attempt to read or write bytes.
struct Transfer {
    /// Why no more can be transferred for now.
    enum End {
        /// Nothing: more may be possible at once.
        case none
        /// The descriptor is not ready.
        case blocked
        /// TLS wants to write before it can go on reading, or to read before it can go on writing.
        case wantsOpposite
        /// The peer has ended its direction.
        case ended
        case failed(TransportError)
    }

    var count: Int
    var end: End
}

/// Memory of fixed size that the streams of one loop read into, one after the other.
@safe final class ReadBuffer {
    /// 64 KB: four TLS records of the largest size.
    static let size = 65_536

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)

    deinit {
        unsafe memory.deallocate()
    }

    /// The first bytes; valid until the next read.
    func withBytes(_ count: Int, _ body: (RawSpan) -> Void) {
        unsafe body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: memory[0..<count])))
    }

    /// Reads once from a socket.
    func fill(from socket: Int32) -> Transfer {
        let count = retryingInterrupts { unsafe recv(socket, memory.baseAddress, memory.count, 0) }
        if count > 0 { return unsafe Transfer(count: count, end: count < memory.count ? .blocked : .none) }
        if count == 0 { return Transfer(count: 0, end: .ended) }
        if errno == EAGAIN { return Transfer(count: 0, end: .blocked) }
        return Transfer(count: 0, end: .failed(.connection(systemErrorText(errno))))
    }

    /// Reads TLS records until none is left in the session, or the buffer is full.
    func fill(from session: TLSSession) -> Transfer {
        var total = 0
        while unsafe total < memory.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[total...])
            let transfer = unsafe session.read(into: rest)
            total += transfer.count
            guard case .none = transfer.end else { return Transfer(count: total, end: transfer.end) }
            guard session.hasPendingInput else { return Transfer(count: total, end: .blocked) }
        }
        return Transfer(count: total, end: .none)
    }
}
