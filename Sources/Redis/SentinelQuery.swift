import Transport

/// Asks sentinels, one after the other, until one names the primary.
///
/// Confined to its loop; it lives until it has called back or was cancelled.
final class SentinelQuery {
    /// The primary, and the conversation with the sentinel that named it, which the receiver must close.
    typealias Answer = (primary: Endpoint, conversation: SentinelConversation)

    private let sentinels: RedisSettings.Sentinels
    private let settings: RedisSettings
    private let deadline: Duration
    private let loop: EventLoop
    private var waiting: ArraySlice<Endpoint>
    private var conversation: SentinelConversation?
    private var failures: [String] = []
    private var done: ((Result<Answer, RedisError>) -> Void)?

    /// Begins with the sentinel of index `first`, modulo their number; `deadline` is for each of them.
    init(
        _ sentinels: RedisSettings.Sentinels,
        first: Int,
        settings: RedisSettings,
        deadline: Duration,
        on loop: EventLoop,
        _ done: @escaping (Result<Answer, RedisError>) -> Void
    ) {
        self.sentinels = sentinels
        self.settings = settings
        self.deadline = deadline
        self.loop = loop
        self.done = done
        let start = first % sentinels.endpoints.count
        waiting = sentinels.endpoints[start...] + sentinels.endpoints[..<start]
    }

    func start() {
        guard let sentinel = waiting.popFirst() else {
            let reasons = failures.joined(separator: "; ")
            return finish(.failure(.noPrimary("no Sentinel names the primary of \"\(sentinels.name)\": \(reasons)")))
        }
        let conversation = SentinelConversation(
            sentinel,
            name: sentinels.name,
            settings: settings,
            deadline: deadline,
            on: loop
        )
        self.conversation = conversation
        conversation.ask { [self] result in
            switch result {
            case .success(let primary):
                self.conversation = nil
                finish(.success((primary, conversation)))
            case .failure(let failure):
                failures.append("\(sentinel): \(failure.reason)")
                start()
            }
        }
    }

    /// Ends it without calling back.
    func cancel() {
        done = nil
        conversation?.close()
        conversation = nil
    }

    private func finish(_ result: Result<Answer, RedisError>) {
        let done = done
        cancel()
        done?(result)
    }
}
