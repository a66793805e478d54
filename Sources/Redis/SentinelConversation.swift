import Transport

/// A connection to one sentinel, which is asked where the primary is, once or again (Redis: "Guidelines for Sentinel
/// clients").
///
/// Connects with the first question. After a failure it cannot be used any more. Confined to its loop; its owner must
/// close it.
final class SentinelConversation: ByteStreamHandler {
    /// Why it has no answer, as the end of a sentence.
    struct Failure: Error {
        let reason: String
    }

    typealias Answer = (Result<Endpoint, Failure>) -> Void

    /// Where the sentinel is.
    let sentinel: Endpoint
    private let settings: RedisSettings
    private let name: String
    private let deadline: Duration
    private let loop: EventLoop
    private var stream: ByteStream?
    private var timer: LoopTimer?
    private let decoder = RESPDecoder()
    private var isLoggingIn = false
    private var answer: Answer?

    /// `name` is what the sentinels call the primary; `deadline` is for each answer, the first one with its connection.
    init(_ sentinel: Endpoint, name: String, settings: RedisSettings, deadline: Duration, on loop: EventLoop) {
        self.sentinel = sentinel
        self.name = name
        self.settings = settings
        self.deadline = deadline
        self.loop = loop
    }

    /// Whether it waits for an answer.
    var isAsking: Bool { answer != nil }

    /// Asks, if no answer is outstanding; calls back once unless it is closed before.
    func ask(_ answer: @escaping Answer) {
        guard self.answer == nil else { return }
        self.answer = answer
        timer = loop.schedule(after: deadline) { [self] in
            end(.failure(Failure(reason: "no answer within \(deadline)")))
        }
        guard let stream else { return connect() }
        write(question, to: stream)
    }

    func close() {
        answer = nil
        dropStream()
    }

    private var question: RedisCommand { RedisCommand("SENTINEL", ["GET-MASTER-ADDR-BY-NAME", name]) }

    private func connect() {
        stream = ByteStream.connect(to: sentinel, tls: settings.tls, deadline: deadline, on: loop, handler: self)
    }

    private func write(_ command: RedisCommand, to stream: ByteStream) {
        command.withRequest { stream.write($0) }
    }

    private func end(_ result: Result<Endpoint, Failure>) {
        timer?.cancel()
        timer = nil
        if case .failure = result { dropStream() }
        let answer = answer
        self.answer = nil
        answer?(result)
    }

    private func dropStream() {
        timer?.cancel()
        timer = nil
        stream?.close()
        stream = nil
    }
}

// MARK: The stream

extension SentinelConversation {
    func byteStreamConnected(_ stream: ByteStream) {
        guard stream === self.stream else { return }
        if let password = settings.password {
            isLoggingIn = true
            write(RedisCommand("AUTH", settings.user.map { [$0, password] } ?? [password]), to: stream)
        }
        write(question, to: stream)
    }

    func byteStream(_ stream: ByteStream, received bytes: RawSpan) {
        guard stream === self.stream else { return }
        let broken = decoder.decode(bytes) { reply in
            // A sentinel that asks for no password refuses one, and answers all the same.
            if isLoggingIn { isLoggingIn = false } else { end(Self.primary(reply)) }
            return stream === self.stream
        }
        if let broken, stream === self.stream { end(.failure(Failure(reason: "\(broken)"))) }
    }

    func byteStreamClosed(_ stream: ByteStream, error: TransportError?) {
        guard stream === self.stream else { return }
        end(.failure(Failure(reason: error.map { "\($0)" } ?? "it ended the connection")))
    }

    /// What a sentinel's reply says: host and port as texts, or nothing if it knows no such name.
    static func primary(_ reply: RESPValue) -> Result<Endpoint, Failure> {
        if let error = reply.error { return .failure(Failure(reason: "\(error)")) }
        if reply.isNull { return .failure(Failure(reason: "it knows none of this name")) }
        guard let host = reply[0]?.text, !host.isEmpty, let number = reply[1]?.integer,
            let port = UInt16(exactly: number),
            port > 0
        else { return .failure(Failure(reason: "it answered with something else")) }
        return .success(.tcp(host: host, port: port))
    }
}
