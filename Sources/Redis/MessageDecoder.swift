/// Reads what a subscribed connection gets: messages without copying them, everything else as values.
///
/// A message is told from within the reader, while its payload lies in the reader's buffer. The body may do anything
/// but call this decoder again.
package final class MessageDecoder {
    private let sink: MessageSink
    private let reader: RESPReader

    package init() {
        sink = MessageSink()
        reader = RESPReader(sink: sink)
    }

    /// Calls `message` for each message (the pattern is nil if it came by its channel), `other` for each other reply.
    ///
    /// Both return whether to go on. After an error nothing more can be read.
    package func decode(
        _ bytes: RawSpan,
        message: (_ payload: RawSpan, _ channel: RawSpan, _ pattern: RawSpan?) -> Bool,
        other: (RESPValue) -> Bool
    ) -> RedisError? {
        withoutActuallyEscaping(message) { message in
            sink.deliver = message
            defer { sink.deliver = nil }
            let error = reader.read(bytes, incomplete: { sink.keep() }) {
                if sink.goesOn, let value = sink.builder.take() { return other(value) }
                return sink.goesOn
            }
            return sink.isBroken ? .invalidReply("a message that is not made of strings") : error
        }
    }
}

/// Recognises messages; passes everything else to a builder.
@safe private final class MessageSink: RESPSink {
    private enum State {
        /// Between replies.
        case between
        /// An array of three or four has begun: a message, or a confirmation.
        case undecided(count: Int)
        /// A message; so many texts are missing.
        case message(missing: Int)
        /// Not a message: the builder takes it.
        case other
    }

    /// A text that was found while the rest of its message is still missing.
    @safe private struct Part {
        // Safety: points into the reader's buffer, and is not used any more once there is a copy.
        var bytes: UnsafeRawBufferPointer
        var copy: [UInt8]?

        @inline(__always)
        func withBytes(_ body: (RawSpan) -> Void) {
            guard let copy else { return unsafe body(RawSpan(_unsafeBytes: bytes)) }
            unsafe body(copy.span.bytes)
        }
    }

    let builder = RESPValueBuilder()
    var deliver: ((RawSpan, RawSpan, RawSpan?) -> Bool)?
    private(set) var goesOn = true
    private(set) var isBroken = false

    private var state = State.between
    private var pattern: Part?
    private var channel: Part?

    override func text(_ kind: Text, _ bytes: UnsafeRawBufferPointer) {
        switch state {
        case .message(let missing) where kind == .bulk: unsafe part(bytes, missing: missing)
        case .undecided(let count) where unsafe kind == .bulk && isMessage(bytes, count):
            state = .message(missing: count - 1)
        default: pass { unsafe $0.text(kind, bytes) }
        }
    }

    override func integer(_ value: Int64) {
        pass { $0.integer(value) }
    }

    override func null() {
        pass { $0.null() }
    }

    override func array(count: Int) {
        if case .between = state, count == 3 || count == 4 {
            state = .undecided(count: count)
        } else {
            pass { $0.array(count: count) }
        }
    }

    /// The reader is about to move its buffer: copies what was found of an incomplete message.
    func keep() {
        guard case .message = state else { return }
        if let part = pattern, part.copy == nil { unsafe pattern?.copy = [UInt8](part.bytes) }
        if let part = channel, part.copy == nil { unsafe channel?.copy = [UInt8](part.bytes) }
    }

    private func pass(_ piece: (RESPValueBuilder) -> Void) {
        switch state {
        case .undecided(let count): builder.array(count: count)
        case .message:
            isBroken = true
            goesOn = false
            return
        case .between, .other: break
        }
        piece(builder)
        state = builder.isInArray ? .other : .between
    }

    private func isMessage(_ bytes: UnsafeRawBufferPointer, _ count: Int) -> Bool {
        let word: StaticString = count == 4 ? "pmessage" : "message"
        guard bytes.count == word.utf8CodeUnitCount else { return false }
        return unsafe bytes.elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    private func part(_ bytes: UnsafeRawBufferPointer, missing: Int) {
        switch missing {
        case 3:
            unsafe pattern = Part(bytes: bytes)
            state = .message(missing: 2)
        case 2:
            unsafe channel = Part(bytes: bytes)
            state = .message(missing: 1)
        default:
            if goesOn { unsafe deliver(payload: bytes) }
            pattern = nil
            channel = nil
            state = .between
        }
    }

    private func deliver(payload: UnsafeRawBufferPointer) {
        guard let deliver, let channel else { return }
        channel.withBytes { channel in
            let payload = unsafe RawSpan(_unsafeBytes: payload)
            guard let pattern else { return goesOn = deliver(payload, channel, nil) }
            pattern.withBytes { goesOn = deliver(payload, channel, $0) }
        }
    }
}
