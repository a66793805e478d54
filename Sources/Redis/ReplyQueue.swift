import Transport

/// What waits for the replies of one connection, in the order of the commands.
struct ReplyQueue {
    typealias Receiver = (Result<RESPValue, RedisError>) -> Void

    struct Entry {
        let sentAt: LoopInstant
        /// How long the reply may take once it is this command's turn.
        let deadline: Duration
        let receiver: Receiver
    }

    // Taken entries are cut off in one go once there are this many and they are the larger part.
    private static let compactionThreshold = 256

    private var entries: [Entry?] = []
    private var head = 0

    var count: Int { entries.count - head }
    var isEmpty: Bool { count == 0 }

    /// The command whose reply comes next.
    var first: Entry? { head < entries.count ? entries[head] : nil }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
    }

    /// Takes the entry whose reply has come.
    mutating func takeFirst() -> Entry? {
        guard head < entries.count else { return nil }
        let entry = entries[head]
        entries[head] = nil
        head += 1
        if head == entries.count {
            entries.removeAll(keepingCapacity: true)
            head = 0
        } else if head > Self.compactionThreshold, head > entries.count / 2 {
            entries.removeFirst(head)
            head = 0
        }
        return entry
    }

    /// Takes all entries, for a connection that is lost.
    mutating func takeAll() -> [Entry] {
        let rest = entries[head...].compactMap { $0 }
        entries = []
        head = 0
        return rest
    }
}
