package import Transport

/// A push message that was heard.
package struct HeardMessage: Sendable {
    package let channel: [UInt8]
    package let message: [UInt8]
    package let heardAt: LoopInstant
    /// How many messages of its stretch were heard before it, and itself.
    let number: Int
    /// The number of the push message before it, 0 for the first.
    let previous: Int

    /// What it takes in memory, its place in lists included.
    var bytes: Int { channel.count + message.count + 160 }
}

/// The push messages of one stretch that are remembered, and what is known of them in Redis.
///
/// Messages up to ``known`` are in the queue. They are remembered a while longer, since Redis may lose its last writes.
struct Stretch {
    /// Redis has shown, at this moment, that everything up to here is written.
    private struct Checkpoint {
        let at: LoopInstant
        let count: Int
    }

    let id: StretchID
    private(set) var messages: [HeardMessage] = []
    /// Messages up to this number are written, as Redis told last.
    private(set) var known: Int
    /// Changes when what was sent must be sent again: answers to what was sent before do not count as refusals then.
    private(set) var epoch = 0
    /// Index of the first message that is not sent, and not known to be written.
    private var next = 0
    private var checkpoints: [Checkpoint] = []

    init(id: StretchID, known: Int) {
        self.id = id
        self.known = known
    }

    var isEmpty: Bool { messages.isEmpty }
    /// How many of its messages are not known to be in the queue.
    var uncoveredCount: Int { messages.count - firstIndex(above: known) }
    /// The next message to send, and not its successors: they come in order.
    var nextToSend: HeardMessage? { next < messages.count ? messages[next] : nil }

    /// Whether the message before the next one is neither in the queue nor remembered: Redis has lost it.
    var lacksPredecessor: Bool { next == 0 && !messages.isEmpty && messages[0].previous > known }

    mutating func append(_ message: HeardMessage) {
        messages.append(message)
    }

    mutating func sentNext() {
        next += 1
    }

    /// Everything above what is known is to be sent again.
    mutating func rewind() {
        epoch += 1
        next = firstIndex(above: known)
    }

    /// Takes over what Redis says; a lower count than before means that it has lost writes.
    mutating func learn(_ count: Int) {
        let isLoss = count < known
        known = count
        if isLoss {
            checkpoints = []
            rewind()
        } else {
            next = max(next, firstIndex(above: count))
        }
    }

    /// Takes over what Redis says on a new connection: it may be another server, with other data.
    mutating func learnAnew(_ count: Int) {
        checkpoints = []
        known = count
        rewind()
    }

    /// Notes what is known as shown by Redis at this moment.
    mutating func addCheckpoint(at now: LoopInstant) {
        if known > checkpoints.last?.count ?? 0 { checkpoints.append(Checkpoint(at: now, count: known)) }
    }

    /// Forgets what was shown as written up to a moment; gives the bytes that this frees.
    mutating func forget(shownBy moment: LoopInstant) -> Int {
        guard let last = checkpoints.lastIndex(where: { $0.at <= moment }) else { return 0 }
        let count = checkpoints[last].count
        checkpoints.removeFirst(last)
        return forget(firstIndex(above: min(count, known)))
    }

    /// Forgets what is known to be written, to make room; gives the bytes that this frees.
    mutating func forgetKnown() -> Int {
        forget(firstIndex(above: known))
    }

    private mutating func forget(_ count: Int) -> Int {
        guard count > 0 else { return 0 }
        let bytes = messages[..<count].reduce(0) { $0 + $1.bytes }
        messages.removeFirst(count)
        next = max(0, next - count)
        return bytes
    }

    private func firstIndex(above number: Int) -> Int {
        guard let last = messages.last, last.number > number else { return messages.count }
        var (low, high) = (0, messages.count)
        while low < high {
            let middle = (low + high) / 2
            if messages[middle].number > number { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
