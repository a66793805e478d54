import Transport

/// A command as the bytes of its request: an array of bulk strings (Redis protocol specification, "Sending commands").
///
/// Arguments are appended one by one; the head, which has their number, is made when the command is sent.
/// The bytes equal those of hiredis' formatter.
package struct RedisCommand: Sendable {
    // "*", ten digits, CR LF.
    private static let headLength = 13

    private var arguments: [UInt8] = []
    package private(set) var argumentCount: Int32 = 0

    /// A command of one word, to which arguments may be appended.
    package init(_ name: StaticString, capacity: Int = 128) {
        arguments.reserveCapacity(capacity)
        name.withUTF8Buffer { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    /// A command from its words.
    package init(_ first: any RedisArgument, _ rest: [any RedisArgument]) {
        first.append(to: &self)
        for argument in rest { argument.append(to: &self) }
    }

    package mutating func append(_ bytes: [UInt8]) {
        appendHead(Self.dollar, bytes.count)
        arguments.append(contentsOf: bytes)
        appendLineEnd()
        argumentCount &+= 1
    }

    package mutating func append(_ bytes: RawSpan) {
        unsafe bytes.withUnsafeBytes { unsafe append($0) }
    }

    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    package mutating func append(_ number: some FixedWidthInteger) {
        append(String(number))
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        appendHead(Self.dollar, bytes.count)
        unsafe arguments.append(contentsOf: bytes)
        appendLineEnd()
        argumentCount &+= 1
    }

    /// The request, as it is sent.
    package var request: [UInt8] {
        var bytes: [UInt8] = []
        withRequest { bytes += $0.copiedBytes }
        return bytes
    }

    /// Gives the request in two parts, without copying it.
    func withRequest(_ body: (RawSpan) -> Void) {
        var head = InlineArray<13, UInt8>(repeating: 0)
        var start = Self.headLength
        start = Self.put(0x0A, before: start, in: &head)
        start = Self.put(0x0D, before: start, in: &head)
        var rest = argumentCount
        repeat {
            start = Self.put(0x30 &+ UInt8(truncatingIfNeeded: rest % 10), before: start, in: &head)
            rest /= 10
        } while rest > 0
        start = Self.put(0x2A, before: start, in: &head)
        unsafe body(head.span.bytes.extracting(last: Self.headLength &- start))
        unsafe body(arguments.span.bytes)
    }

    private static func put(_ byte: UInt8, before index: Int, in head: inout InlineArray<13, UInt8>) -> Int {
        head[index &- 1] = byte
        return index &- 1
    }

    private static let dollar: UInt8 = 0x24

    private mutating func appendHead(_ sign: UInt8, _ count: Int) {
        arguments.append(sign)
        if count < 10 {
            arguments.append(0x30 &+ UInt8(truncatingIfNeeded: count))
        } else if count < 100 {
            arguments.append(0x30 &+ UInt8(truncatingIfNeeded: count / 10))
            arguments.append(0x30 &+ UInt8(truncatingIfNeeded: count % 10))
        } else {
            arguments.append(contentsOf: String(count).utf8)
        }
        appendLineEnd()
    }

    private mutating func appendLineEnd() {
        arguments.append(0x0D)
        arguments.append(0x0A)
    }
}

/// What can stand as one word of a command.
package protocol RedisArgument: Sendable {
    func append(to command: inout RedisCommand)
}

extension String: RedisArgument {
    package func append(to command: inout RedisCommand) { command.append(self) }
}

extension [UInt8]: RedisArgument {
    package func append(to command: inout RedisCommand) { command.append(self) }
}

extension Int: RedisArgument {
    package func append(to command: inout RedisCommand) { command.append(String(self)) }
}

extension Int64: RedisArgument {
    package func append(to command: inout RedisCommand) { command.append(String(self)) }
}
