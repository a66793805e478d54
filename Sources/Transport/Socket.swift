import CLinux
import Glibc

/// The socket calls that streams and listeners share; all sockets are non-blocking and closed in child processes.
enum Socket {
    private static let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)

    static func make(family: Int32) throws(TransportError) -> Descriptor {
        Descriptor(try checked("socket") { socket(family, kind, 0) })
    }

    static func set(_ option: Int32, level: Int32, _ value: Int32, on socket: Int32) {
        var value = value
        // Options are refinements: a system that refuses one still has a working connection.
        _ = unsafe setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Closing drops what waits and resets the connection.
    static func resetOnClose(_ socket: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    /// No delay for small writes; a dead peer is noticed within a minute, idle or not.
    static func tune(_ socket: Int32, family: Int32) {
        guard family != AF_UNIX else { return }
        let tcp = Int32(IPPROTO_TCP)
        set(TCP_NODELAY, level: tcp, 1, on: socket)
        set(SO_KEEPALIVE, level: SOL_SOCKET, 1, on: socket)
        set(TCP_KEEPIDLE, level: tcp, 30, on: socket)
        set(TCP_KEEPINTVL, level: tcp, 10, on: socket)
        set(TCP_KEEPCNT, level: tcp, 3, on: socket)
        set(TCP_USER_TIMEOUT, level: tcp, 60_000, on: socket)
    }

    /// The error of a connection attempt or of an established connection; 0 if there is none.
    ///
    /// Resets it.
    static func pendingError(_ socket: Int32) -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { return errno }
        return code
    }
}
