/// Builds values from what the reader tells.
///
/// Its state lies behind a pointer of its own, which costs less at each element than properties of a class.
@safe final class RESPValueBuilder: RESPSink {
    private let state: UnsafeMutablePointer<RESPValueStack>

    override init() {
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: RESPValueStack())
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Whether an array has begun that is not complete.
    var isInArray: Bool { unsafe state.pointee.missing > 0 }

    /// The value that has been completed, once.
    func take() -> RESPValue? {
        unsafe state.pointee.complete.take()
    }

    override func text(_ kind: Text, _ bytes: UnsafeRawBufferPointer) {
        switch kind {
        case .bulk: unsafe state.pointee.add(.bulk([UInt8](bytes)))
        case .simple: unsafe state.pointee.add(.simple(String(decoding: bytes, as: UTF8.self)))
        case .error: unsafe state.pointee.add(.error(String(decoding: bytes, as: UTF8.self)))
        }
    }

    override func integer(_ value: Int64) {
        unsafe state.pointee.add(.integer(value))
    }

    override func null() {
        unsafe state.pointee.add(.null)
    }

    override func array(count: Int) {
        unsafe state.pointee.begin(count: count)
    }
}

/// The arrays that have begun, and what they hold so far.
private struct RESPValueStack {
    private struct Outer {
        let missing: Int
        var elements: [RESPValue]
    }

    /// Arrays are given this much room at once at most: the count comes from outside.
    private static let reservedElements = 1024

    /// How many elements the innermost array still waits for; 0: none has begun.
    private(set) var missing = 0
    /// The last complete value.
    var complete: RESPValue?
    private var elements: [RESPValue] = []
    private var outer: [Outer] = []

    mutating func begin(count: Int) {
        guard count > 0 else { return add(.array([])) }
        if missing > 0 { outer.append(Outer(missing: missing, elements: elements)) }
        missing = count
        elements = []
        elements.reserveCapacity(min(count, Self.reservedElements))
    }

    mutating func add(_ value: consuming RESPValue) {
        guard missing > 0 else { return complete = value }
        elements.append(value)
        missing &-= 1
        while missing == 0, finishArray() {}
    }

    /// Puts the innermost array, which is complete, into the one around it; false if there is none.
    private mutating func finishArray() -> Bool {
        // Swapped, not copied: two owners of the elements would mean a copy at each step.
        var whole: [RESPValue] = []
        swap(&whole, &elements)
        guard !outer.isEmpty else {
            complete = .array(whole)
            return false
        }
        let last = outer.count &- 1
        swap(&elements, &outer[last].elements)
        missing = outer[last].missing &- 1
        outer.removeLast()
        elements.append(.array(whole))
        return true
    }
}

/// Reads replies from bytes as they come.
package final class RESPDecoder {
    private let builder = RESPValueBuilder()
    private let reader: RESPReader

    package init() {
        reader = RESPReader(sink: builder)
    }

    /// Calls the body for each reply that these bytes complete, until it returns false.
    ///
    /// After an error nothing more can be read.
    package func decode(_ bytes: RawSpan, _ body: (RESPValue) -> Bool) -> RedisError? {
        reader.read(bytes) {
            guard let value = builder.take() else { return true }
            return body(value)
        }
    }
}
