import Glibc

/// The system's text for an `errno` value.
package func systemErrorText(_ code: Int32) -> String {
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}

/// Calls again for as long as a signal interrupts the call.
@inline(__always)
func retryingInterrupts<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

/// Makes a negative result of a system call an error that names the call.
@discardableResult
func checked<Result: SignedInteger>(_ name: String, _ call: () -> Result) throws(TransportError) -> Result {
    let result = retryingInterrupts(call)
    guard result != -1 else { throw .system(call: name, code: errno) }
    return result
}

/// A file descriptor with one owner, closed when the owner lets go of it.
struct Descriptor: ~Copyable, Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    /// Leaves the descriptor open, for a new owner.
    consuming func relinquish() {
        discard self
    }

    deinit {
        // Not repeated after EINTR: Linux has released the number by then.
        close(number)
    }
}
