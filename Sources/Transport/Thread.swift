import CLinux
import Glibc

/// A number that tells the calling thread from every other living one.
@inline(__always)
func currentThreadIdentity() -> UInt {
    UInt(pthread_self())
}

/// Starts a detached thread; at most 15 bytes of the name are shown by the system.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(TransportError) {
    let start = ThreadStart(name: name, body: body)
    var thread = pthread_t()
    // Safety: the thread takes over the reference; if it does not start, it is taken back here.
    let retained = unsafe Unmanaged.passRetained(start)
    let code = unsafe pthread_create(
        &thread,
        nil,
        { argument in
            guard let argument = unsafe argument else { return nil }
            let start = unsafe Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
            unsafe pthread_setname_np(pthread_self(), String(start.name.utf8.prefix(15)) ?? "")
            start.body()
            return nil
        },
        retained.toOpaque()
    )
    guard code == 0 else {
        unsafe retained.release()
        throw .system(call: "pthread_create", code: code)
    }
    pthread_detach(thread)
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
