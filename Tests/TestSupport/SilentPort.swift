import Glibc

/// A local port that takes no connection and refuses none, as a host that is gone: its queue is full.
@safe package final class SilentPort {
    package struct Failed: Error {}

    package let port: UInt16
    private var sockets: [Int32] = []

    package init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        sockets.append(listener)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        guard unsafe Self.call(bind, listener, &address) == 0, listen(listener, 0) == 0 else { throw Failed() }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(listener, $0, &length)
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        // One finds a place in the queue of no length, the others fill what the system gives beyond it.
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            sockets.append(filler)
            _ = unsafe Self.call(connect, filler, &address)
        }
    }

    deinit {
        for socket in sockets { close(socket) }
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32,
        _ socket: Int32,
        _ address: inout sockaddr_in
    ) -> Int32 {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
