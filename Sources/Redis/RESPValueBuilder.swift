/// Builds values from what the reader tells.
final class RESPValueBuilder: RESPSink {
    private struct Frame {
        var missing: Int
        var elements: [RESPValue]
    }

    /// Arrays are given this much room at once at most: the count comes from outside.
    private static let reservedElements = 1024

    private var open: [Frame] = []
    /// The last complete value.
    private var complete: RESPValue?

    /// Whether an array has begun that is not complete.
    var isInArray: Bool { !open.isEmpty }

    /// The value that has been completed, once.
    func take() -> RESPValue? {
        defer { complete = nil }
        return complete
    }

    override func text(_ kind: Text, _ bytes: UnsafeRawBufferPointer) {
        switch kind {
        case .bulk: unsafe add(.bulk([UInt8](bytes)))
        case .simple: unsafe add(.simple(String(decoding: bytes, as: UTF8.self)))
        case .error: unsafe add(.error(String(decoding: bytes, as: UTF8.self)))
        }
    }

    override func integer(_ value: Int64) {
        add(.integer(value))
    }

    override func null() {
        add(.null)
    }

    override func array(count: Int) {
        guard count > 0 else { return add(.array([])) }
        var elements: [RESPValue] = []
        elements.reserveCapacity(min(count, Self.reservedElements))
        open.append(Frame(missing: count, elements: elements))
    }

    private func add(_ value: RESPValue) {
        var value = value
        while !open.isEmpty {
            let last = open.count &- 1
            open[last].elements.append(value)
            open[last].missing &-= 1
            guard open[last].missing == 0 else { return }
            value = .array(open.removeLast().elements)
        }
        complete = value
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
