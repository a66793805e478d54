/// What the reader found, piece by piece, in the order of the bytes; nested arrays depth first.
///
/// A class with overridable functions, not a protocol: hiredis calls back through C function pointers, and an
/// instance must be reached from one untyped pointer.
class RESPSink {
    enum Text {
        case bulk
        case simple
        case error
    }

    /// The bytes lie in the reader's buffer and are valid during the call only.
    func text(_ kind: Text, _ bytes: UnsafeRawBufferPointer) {}
    func integer(_ value: Int64) {}
    func null() {}
    /// The next `count` values are the elements.
    func array(count: Int) {}
}
