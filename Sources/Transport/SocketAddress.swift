import Glibc

/// An address that a socket can be bound or connected to.
struct SocketAddress: Sendable {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        self.length = min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(self.length)))
        }
    }

    /// The address that a socket is bound to.
    init(ofSocket socket: Int32) throws(TransportError) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(socket, $0, &length) }
        }
        guard code == 0 else { throw .system(call: "getsockname", code: errno) }
        self.storage = storage
        self.length = length
    }

    init(unixPath path: String) throws(TransportError) {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        // The system's limit, with room for the zero byte at the end.
        let limit = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard !bytes.isEmpty, bytes.count <= limit, !bytes.contains(0) else {
            throw .unusable("the path of a unix socket has 1 to \(limit) bytes; this one has \(bytes.count): \(path)")
        }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        unsafe withUnsafeMutableBytes(of: &storage) { target in
            unsafe withUnsafeBytes(of: &address) { unsafe target.copyMemory(from: $0) }
        }
    }

    /// The port of an internet address.
    var port: UInt16 {
        // Safety: the port is at the same place in both kinds of internet address.
        guard family == AF_INET || family == AF_INET6 else { return 0 }
        return unsafe withUnsafeBytes(of: storage) { bytes in
            unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }
}
