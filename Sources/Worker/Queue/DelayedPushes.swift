package import Transport

/// Retries that wait in Redis: no memory is held for them, and no crash loses them.
///
/// Pushes that wait are gathered for a moment, and each entry's become a part of their own that is due at a time
/// (``PartScripts/delay``). All workers look now and then for what is due. Confined to the worker's loop.
package final class DelayedPushes {
    /// Shorter waits than this are made in memory.
    package static let minimumDelay: Duration = .seconds(1)
    /// How long pushes are gathered.
    static let gathering: Duration = .milliseconds(50)
    /// Between two looks for what is due; sooner if something is known to be due sooner.
    static let lookInterval: Duration = .milliseconds(1000)
    static let shortestLook: Duration = .milliseconds(50)
    /// Parts released at one time, and how many may wait in the stream of parts.
    static let maximumReleased = 100
    static let maximumWaitingParts = 4096

    private let parts: MessageParts
    private let loop: EventLoop
    private let log: Log
    private let now: () -> Int64
    private var gathered: [Waiting] = []
    private var isGathering = false
    private var unconfirmed = 0
    /// Pushes that Redis is not known to have.
    package private(set) var count = 0
    private var isStopped = false

    private struct Waiting {
        let push: Push
        /// Unix milliseconds of Redis' clock.
        let due: Int64
    }

    /// Pushes of one entry and target that are due within the same second.
    private struct Group: Hashable {
        let run: ObjectIdentifier
        let second: Int64
    }

    package init(parts: MessageParts, now: @escaping () -> Int64, loop: EventLoop, log: Log) {
        self.parts = parts
        self.now = now
        self.loop = loop
        self.log = log
    }

    /// Whether Redis has all that waits.
    package var isSettled: Bool { gathered.isEmpty && unconfirmed == 0 }

    /// Lets a push wait.
    package func add(_ push: Push, after delay: Duration) {
        gathered.append(Waiting(push: push, due: now() + delay.wholeMilliseconds))
        count += 1
        guard !isGathering else { return }
        isGathering = true
        loop.schedule(after: Self.gathering) { [self] in
            isGathering = false
            flush()
        }
    }

    private func flush() {
        let waiting = gathered
        gathered = []
        for (_, pushes) in Dictionary(
            grouping: waiting,
            by: { Group(run: ObjectIdentifier($0.push.run), second: $0.due / 1000) }
        ) {
            delay(pushes)
        }
    }

    private func delay(_ waiting: [Waiting]) {
        guard let run = waiting.first?.push.run, let due = waiting.map(\.due).max() else { return }
        var tokens = BatchTokens(tracesEachDevice: run.tracesEachDevice, isRetry: true)
        var records: [UInt8] = []
        for push in waiting.map(\.push) {
            tokens.append(BatchTokens.Device(member: push.stored ?? push.token, tries: push.tries))
            records.append(littleEndian: StoredOutcome.delayed.record(token: push.token, target: run.number))
        }
        let nonce = String(UInt64.random(in: .min ... .max), radix: 16)
        let part = MessagePart(target: run.number, tokens: tokens)
        let member = MessageParts.delayedMember(nonce: nonce, messageID: run.message.message.entryID, part: part)
        unconfirmed += 1
        send(member, due: due, records: records, count: waiting.count, of: run)
    }

    private func send(_ member: [UInt8], due: Int64, records: [UInt8], count: Int, of run: TargetRun) {
        guard !run.message.isAbandoned else { return confirmed(count) }
        parts.delay(
            member,
            due: due,
            devices: count,
            records: records,
            of: run.message,
            target: run.number
        ) { [self] answer in
            switch answer {
            case .done:
                confirmed(count)
                run.delayed(count)
            // Whoever has the entry now makes the pushes.
            case .lost, .moved: confirmed(count)
            case .unknown:
                loop.schedule(after: RunLedger.retryPause) { [self] in
                    send(member, due: due, records: records, count: count, of: run)
                }
            }
        }
    }

    private func confirmed(_ pushes: Int) {
        unconfirmed -= 1
        count -= pushes
    }

    // MARK: What is due

    /// Begins to look for what is due.
    package func start() { look() }

    package func stop() { isStopped = true }

    private func look() {
        guard !isStopped else { return }
        parts.release(atMost: Self.maximumReleased, upTo: Self.maximumWaitingParts) { [self] result in
            var pause = Self.lookInterval
            if case .success(let (_, nextIn?)) = result {
                pause = max(Self.shortestLook, min(pause, .milliseconds(nextIn)))
            }
            loop.schedule(after: pause) { [self] in look() }
        }
    }
}
