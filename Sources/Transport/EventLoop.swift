import Glibc
import Synchronization

/// One thread that waits for descriptors, timers and work from other threads, and calls what they concern.
///
/// A turn: wait, read the clock, run the mailbox, the ready descriptors, the timers that are due, then the actions for
/// the end of the turn and one write for each stream with output. Nothing that runs on the loop may block.
///
/// Before `run()` the thread that made the loop counts as its thread, so that parts can be set up on it.
/// A loop is also a `SerialExecutor`: an actor may live on it.
///
/// Unchecked `Sendable`: only the mailbox, `stop()`, `execute` and the question whether the caller is on the loop's
/// thread are used from other threads, and these are locked or atomic; all else is confined to the loop's thread.
package final class EventLoop: SerialExecutor, @unchecked Sendable {
    /// The monotonic clock as it stood at the start of the turn; loop only.
    package private(set) var now: LoopInstant

    let poller: Poller
    let mailbox: Mailbox
    /// Shared by all streams of the loop: bytes are in it only during one call of a handler.
    let readBuffer = ReadBuffer()

    private let timers = TimerHeap()
    private let owner: Atomic<UInt>
    private let isStopRequested = Atomic<Bool>(false)
    private var items: [Mailbox.Item] = []
    private var endActions = TurnList<() -> Void>()
    private var unflushed = TurnList<ByteStream>()
    private var unread = TurnList<ByteStream>()
    private var cachedUnixMilliseconds: Int64?

    package init() throws(TransportError) {
        // A write to a connection that the peer has reset must be an error, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        poller = try Poller()
        mailbox = try Mailbox()
        owner = Atomic(currentThreadIdentity())
        now = .current
        _ = try poller.add(mailbox.wakeDescriptor, .input, WakeWatcher(mailbox: mailbox))
    }

    /// A loop that runs on its own thread until `stop()`.
    package static func onNewThread(named name: String) throws(TransportError) -> EventLoop {
        let loop = try EventLoop()
        loop.owner.store(0, ordering: .releasing)
        try startThread(named: name) { loop.run() }
        return loop
    }

    /// Works on the calling thread until `stop()`.
    ///
    /// A loop runs once.
    package func run() {
        owner.store(currentThreadIdentity(), ordering: .releasing)
        while !isStopRequested.load(ordering: .relaxed) { turn() }
        mailbox.close()
        runMailbox()
        endTurn()
        timers.removeAll()
        poller.removeAll()
    }

    /// Ends `run()` after the turn at hand; from any thread.
    ///
    /// Streams still open are closed without a word.
    package func stop() {
        isStopRequested.store(true, ordering: .relaxed)
        mailbox.wake()
    }

    /// Runs the work on the loop, in the order of the calls; from any thread.
    ///
    /// Dropped if the loop has ended.
    package func execute(_ work: @escaping @Sendable () -> Void) {
        mailbox.add(.work(work))
    }

    /// Runs the body on the loop and waits for its result; from any task.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
            if !mailbox.add(.work(work)) { continuation.resume(throwing: TransportError.stopped) }
        }
    }

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool {
        owner.load(ordering: .relaxed) == currentThreadIdentity()
    }

    /// Ends the process if the caller is not on the loop's thread.
    @inline(__always)
    package func preconditionOnLoop() {
        precondition(isCurrent, "called from outside the event loop's thread")
    }

    /// Runs the action once, at the first turn after the duration; loop only.
    ///
    /// Negative durations count as zero.
    @discardableResult
    package func schedule(after duration: Duration, _ action: @escaping () -> Void) -> LoopTimer {
        preconditionOnLoop()
        return timers.add(deadline: max(now, now + duration), action: action)
    }

    /// Runs the action once before the loop waits again, and before output is written; loop only.
    package func atEndOfTurn(_ action: @escaping () -> Void) {
        preconditionOnLoop()
        endActions.append(action)
    }

    /// Milliseconds since 1970 by the wall clock, read at most once in a turn; loop only.
    package var unixMilliseconds: Int64 {
        if let cachedUnixMilliseconds { return cachedUnixMilliseconds }
        let milliseconds = currentUnixMilliseconds()
        cachedUnixMilliseconds = milliseconds
        return milliseconds
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        mailbox.add(.job(UnownedJob(job)))
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    package func checkIsolated() {
        preconditionOnLoop()
    }

    /// The stream's output is written once at the end of the turn.
    func flushAtEndOfTurn(_ stream: ByteStream) {
        unflushed.append(stream)
    }

    /// The stream has bytes that epoll cannot see; it goes on reading in the next turn.
    func readInNextTurn(_ stream: ByteStream) {
        unread.append(stream)
    }
}

// MARK: One turn

extension EventLoop {
    private func turn() {
        poller.wait(timeoutMilliseconds: waitMilliseconds())
        now = .current
        cachedUnixMilliseconds = nil
        runMailbox()
        poller.dispatch()
        readOn()
        timers.fire(now: now)
        endTurn()
    }

    private func waitMilliseconds() -> Int32 {
        guard endActions.isEmpty, unflushed.isEmpty, unread.isEmpty, mailbox.prepareToSleep() else { return 0 }
        guard let deadline = timers.nextDeadline() else { return -1 }
        // A fresh clock: the turn at hand may have taken long. A day at most, so that it fits.
        let remaining = (deadline - .current).clampedMilliseconds
        return Int32(min(max(remaining, 0), 86_400_000))
    }

    private func runMailbox() {
        var items = self.items
        self.items = []
        mailbox.take(&items)
        for item in items {
            switch item {
            case .work(let work): work()
            case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            }
        }
        // A burst must not hold its memory for ever.
        if items.capacity > 4096 { items = [] } else { items.removeAll(keepingCapacity: true) }
        self.items = items
    }

    private func readOn() {
        guard !unread.isEmpty else { return }
        var streams = unread.take()
        for stream in streams { stream.readOn() }
        unread.reuse(&streams)
    }

    /// Actions may add actions and output; after a few rounds the rest waits for the next turn.
    private func endTurn() {
        var rounds = 0
        while rounds < 8, !(endActions.isEmpty && unflushed.isEmpty) {
            rounds += 1
            runEndActions()
            flushStreams()
        }
    }

    private func runEndActions() {
        guard !endActions.isEmpty else { return }
        var actions = endActions.take()
        for action in actions { action() }
        endActions.reuse(&actions)
    }

    private func flushStreams() {
        guard !unflushed.isEmpty else { return }
        var streams = unflushed.take()
        for stream in streams { stream.flushAtEndOfTurn() }
        unflushed.reuse(&streams)
    }
}

/// What is to be done once in a turn; what is added while it is done waits for the next round.
private struct TurnList<Element> {
    private var waiting: [Element] = []
    // The storage of the round before, so that no turn allocates.
    private var spare: [Element] = []

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ element: Element) {
        waiting.append(element)
    }

    /// Takes out everything.
    mutating func take() -> [Element] {
        var taken = spare
        spare = []
        swap(&taken, &waiting)
        return taken
    }

    /// Gives back the storage of what was taken.
    mutating func reuse(_ taken: inout [Element]) {
        taken.removeAll(keepingCapacity: true)
        swap(&taken, &spare)
    }
}

private final class WakeWatcher: DescriptorWatcher {
    private let mailbox: Mailbox

    init(mailbox: Mailbox) {
        self.mailbox = mailbox
    }

    func descriptorReady(_ events: PollEvents) {
        mailbox.clearSignal()
    }

    func loopEnded() {}
}
