import CHiredis

/// hiredis' incremental reader: takes bytes as they come and tells a sink what they mean.
///
/// Owns the C object and its table of functions. The objects that hiredis thinks it builds do not exist: each is the
/// same pointer, to the sink. One thread at a time.
@safe final class RESPReader {
    /// What the bytes fed so far amount to.
    enum Progress: Equatable {
        /// One more reply was told to the sink.
        case reply
        /// The next reply is not complete.
        case incomplete
        case failed(RedisError)
    }

    /// At most so many bytes are handed to hiredis in one go: with each reply it moves what follows to the front of
    /// its buffer, so a full read of small replies would be moved again and again.
    static let sliceSize = 4096
    /// The longest text of a reply: what Redis allows by default (`proto-max-bulk-len`), with room for its frame.
    private static let maximumTextBytes = 512 * 1024 * 1024 + 4096
    /// Unused memory over this is given back.
    private static let keptBytes = 262_144

    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let sink: RESPSink

    init(sink: RESPSink) {
        self.sink = sink
        unsafe functions = .allocate(capacity: 1)
        unsafe functions.initialize(to: callbacks)
        guard let reader = unsafe redisReaderCreateWithFunctions(functions) else {
            preconditionFailure("no memory for a Redis reader")
        }
        unsafe self.reader = reader
        unsafe reader.pointee.maxbuf = Self.keptBytes
        // Safety: the sink lives as long as the reader, and callbacks run only within `next()`.
        unsafe reader.pointee.privdata = Unmanaged.passUnretained(sink).toOpaque()
    }

    deinit {
        unsafe redisReaderFree(reader)
        unsafe functions.deallocate()
    }

    /// Appends bytes to those not understood so far; false if they are too many.
    func feed(_ bytes: RawSpan) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return true }
            guard unsafe reader.pointee.len &+ bytes.count <= Self.maximumTextBytes else { return false }
            return unsafe redisReaderFeed(reader, base.assumingMemoryBound(to: CChar.self), bytes.count) == REDIS_OK
        }
    }

    /// Goes on until one reply is complete or the bytes are used up.
    func next() -> Progress {
        var reply: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &reply) == REDIS_OK else { return .failed(.invalidReply(errorText)) }
        return unsafe reply == nil ? .incomplete : .reply
    }

    private var errorText: String {
        unsafe withUnsafeBytes(of: &reader.pointee.errstr) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

/// Feeds bytes in slices; `body` is called after each reply and returns whether to go on.
extension RESPReader {
    /// Returns nil when the bytes are used up or `body` wants no more.
    func read(_ bytes: RawSpan, incomplete: () -> Void = {}, reply body: () -> Bool) -> RedisError? {
        var position = 0
        while position < bytes.byteCount {
            let end = min(position &+ Self.sliceSize, bytes.byteCount)
            guard feed(bytes.extracting(position..<end)) else {
                return .invalidReply("a reply of more than 512 MB")
            }
            position = end
            replies: while true {
                switch next() {
                case .reply: if !body() { return nil }
                case .incomplete: break replies
                case .failed(let error): return error
                }
            }
            incomplete()
        }
        return nil
    }
}

// Safety: `privdata` is the sink that the reader was made with; it is not nil, which hiredis would take for a lack of
// memory. The pointers that hiredis gives are valid during the call.
private let callbacks = unsafe redisReplyObjectFunctions(
    createString: { task, bytes, count in
        guard let task = unsafe task, let own = unsafe task.pointee.privdata else { return nil }
        let kind: RESPSink.Text =
            switch unsafe task.pointee.type {
            case REDIS_REPLY_STATUS: .simple
            case REDIS_REPLY_ERROR: .error
            default: .bulk
            }
        unsafe Unmanaged<RESPSink>.fromOpaque(own)._withUnsafeGuaranteedRef {
            unsafe $0.text(kind, UnsafeRawBufferPointer(start: bytes, count: count))
        }
        return unsafe own
    },
    createArray: { task, count in
        guard let own = unsafe task?.pointee.privdata else { return nil }
        unsafe Unmanaged<RESPSink>.fromOpaque(own)._withUnsafeGuaranteedRef { $0.array(count: Int(count)) }
        return unsafe own
    },
    createInteger: { task, value in
        guard let own = unsafe task?.pointee.privdata else { return nil }
        unsafe Unmanaged<RESPSink>.fromOpaque(own)._withUnsafeGuaranteedRef { $0.integer(value) }
        return unsafe own
    },
    createNil: { task in
        guard let own = unsafe task?.pointee.privdata else { return nil }
        unsafe Unmanaged<RESPSink>.fromOpaque(own)._withUnsafeGuaranteedRef { $0.null() }
        return unsafe own
    },
    freeObject: { _ in }
)
