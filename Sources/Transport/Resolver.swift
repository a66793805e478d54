import Glibc
import Synchronization

/// Looks up host names with the system's resolver, which blocks: on threads of its own, at most eight at once.
enum Resolver {
    /// Calls back on the loop, never before this returns.
    ///
    /// Loop only.
    static func resolve(
        host: String,
        port: UInt16,
        on loop: EventLoop,
        then: @escaping (Result<[SocketAddress], TransportError>) -> Void
    ) {
        if let address = try? lookUp(host: host, port: port, flags: AI_NUMERICHOST) {
            loop.atEndOfTurn { then(.success(address)) }
            return
        }
        let continuation = LoopConfined(then, on: loop)
        LookUpThreads.shared.run {
            let result: Result<[SocketAddress], TransportError>
            do throws(TransportError) {
                result = .success(try lookUp(host: host, port: port, flags: AI_ADDRCONFIG))
            } catch {
                result = .failure(error)
            }
            loop.execute { continuation.value(result) }
        }
    }

    /// All TCP addresses of a host, in the system's order of preference (RFC 6724).
    ///
    /// May block.
    static func lookUp(host: String, port: UInt16, flags: Int32) throws(TransportError) -> [SocketAddress] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            let system = code == EAI_SYSTEM ? systemErrorText(errno) : unsafe String(cString: gai_strerror(code))
            throw .resolution(host: host, reason: system)
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let info = unsafe entry {
            if let address = unsafe info.pointee.ai_addr {
                unsafe addresses.append(SocketAddress(copying: address, length: info.pointee.ai_addrlen))
            }
            unsafe entry = info.pointee.ai_next
        }
        guard !addresses.isEmpty else { throw .resolution(host: host, reason: "it has no address") }
        return addresses
    }
}

/// Threads that end when there is nothing left to look up.
private final class LookUpThreads: Sendable {
    static let shared = LookUpThreads()

    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var threadCount = 0
    }

    private static let maximumThreads = 8
    private let state = Mutex(State())

    func run(_ work: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            state.waiting.append(work)
            guard state.threadCount < Self.maximumThreads else { return false }
            state.threadCount += 1
            return true
        }
        guard mustStart else { return }
        do {
            try startThread(named: "resolver") { self.workOff() }
        } catch {
            // No thread to be had: late is better than never.
            workOff()
        }
    }

    private func workOff() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.threadCount -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
