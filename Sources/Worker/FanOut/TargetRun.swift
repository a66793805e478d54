package import HTTP2

/// One target of a queue entry on its way: its devices, its pushes' outcomes, its traces.
///
/// Takes the pages of the set's walk, or the devices of a part; gives out pushes, or what becomes parts; counts
/// outcomes, and tells its entry's run when all is done. Confined to the worker's loop; held by the walk and by each
/// push without an outcome.
package final class TargetRun {
    /// With more devices than this `sent` is only counted, and at most as many other devices are traced.
    package static let maximumTracedDevices = 100
    /// Targets with more devices are cut into parts, for all workers.
    package static let maximumDirectDevices = 1000

    package let message: MessageRun
    package let target: Target
    /// The target's number in the plan.
    package let number: Int
    /// Why nothing is sent at all; the devices are counted nevertheless, for the traces.
    package let ending: TargetEnding?
    package private(set) var tally = Tally()
    /// Whether outcomes of the target are counted in Redis, since it has parts.
    package private(set) var hasParts: Bool
    /// The requests' common part, made by the provider for the first push.
    package var template: HTTP2RequestTemplate?
    /// Makes the `apns-id` of each push.
    package private(set) lazy var apnsID = APNsID(messageID: message.message.id, target: target)

    private var recipients: Recipients
    private var held: [Push] = []
    private var unusable: [[UInt8]] = []
    private var unusableCount = 0
    private var walkEnded = false
    private let tracesEachOfPart: Bool?
    /// Of a part that was a retry: its devices.
    private var retriedDevices = 0
    /// Whether all of the walk's pages became parts.
    private var isWalked = false

    /// `part`: not the whole target, but these devices of it, which were counted before.
    package init(
        message: MessageRun,
        number: Int,
        target: Target,
        ending: TargetEnding?,
        hasParts: Bool = false,
        part: BatchTokens? = nil
    ) {
        self.message = message
        self.number = number
        self.target = target
        self.ending = ending
        self.hasParts = hasParts
        tracesEachOfPart = part?.tracesEachDevice
        recipients = Recipients(kind: target.registrationKind, exclusions: target.exclusions)
    }

    /// Whether the target's devices are traced one by one; final once pushes are released.
    package var tracesEachDevice: Bool {
        if let tracesEachOfPart { return tracesEachOfPart }
        return tally.expected <= Self.maximumTracedDevices
    }

    /// What the entry adds to the target, when it has finished here.
    package var share: TargetShare {
        TargetShare(number: number, tally: tally, retriedDevices: retriedDevices, isWalked: isWalked)
    }

    /// Whether the target is to be cut into parts.
    package var isLarge: Bool { ending == nil && tally.expected > Self.maximumDirectDevices }

    /// The trace that one device's event goes to; nil when it is not traced.
    package func deviceTrace(isSent: Bool = false) -> MessageTrace? {
        guard let trace = message.trace else { return nil }
        if tracesEachDevice { return trace }
        return isSent ? nil : message.context.takeDeviceTrace(of: number)
    }

    // MARK: Outcomes

    /// Notes the outcome of one push, after its traces.
    package func finish(_ outcome: Outcome, token: [UInt8]) {
        tally.count(outcome)
        completeIfDone()
        message.note(StoredOutcome(outcome), token: token, target: number)
    }

    /// So many pushes wait for another attempt in a part of their own.
    package func delayed(_ count: Int) {
        hasParts = true
        message.wasStored()
        tally.delay(count)
        completeIfDone()
    }

    private func completeIfDone() {
        guard walkEnded, held.isEmpty, unusable.isEmpty, tally.unfinished == 0 else { return }
        if !hasParts { message.trace?.completed(target, tally) }
        message.targetFinished(self)
    }
}

// MARK: Walks

extension TargetRun {
    /// Takes a page of the set and gives the pushes that can go now.
    ///
    /// Pushes are held back until the walk has ended: only then it is known whether the devices are traced one by one,
    /// and whether the target is cut into parts.
    package func take(page: [[UInt8]], isLast: Bool) -> [Push] {
        collect(page)
        guard isLast else { return [] }
        endWalk()
        return release()
    }

    /// Takes a page of the set, and keeps it.
    package func collect(_ page: [[UInt8]]) {
        for member in page {
            switch recipients.decide(member) {
            case .repeated: break
            case .excluded: tally.exclude()
            case .unusable:
                tally.expect()
                if ending == nil { unusable.append(member) }
            case .device(let token, let stored): expect(Push(run: self, token: token, stored: stored))
            }
        }
        if ending != nil { _ = recipients.takeMet() }
    }

    private func expect(_ push: Push) {
        tally.expect()
        guard ending == nil else { return }
        switch message.stored.outcome(token: push.token, target: number) {
        case nil: held.append(push)
        case .delayed?: tally.delay()
        case let stored?: if let outcome = stored.outcome { tally.count(outcome) }
        }
    }

    /// The walk cannot go on; what was found so far is all.
    package func walkFailed(reason: String, text: String) -> [Push] {
        message.trace?.error(target, reason: reason, text: text)
        return take(page: [], isLast: true)
    }

    private func endWalk() {
        walkEnded = true
        message.trace?.devices(target, tally)
    }

    private func release() -> [Push] {
        if let ending {
            end(ending)
            return []
        }
        countUnusable()
        let pushes = held
        held = []
        completeIfDone()
        return pushes
    }

    private func countUnusable() {
        for member in unusable {
            deviceTrace()?.unusable(target, member: member)
            tally.count(.errored)
        }
        unusableCount += unusable.count
        unusable = []
    }

    private func end(_ ending: TargetEnding) {
        switch ending {
        case .expired:
            message.trace?.expired(target)
            tally.count(.expired, tally.unfinished)
        case .failed(let reason, let text):
            message.trace?.error(target, reason: reason, text: text)
            tally.count(.errored, tally.unfinished)
        }
        completeIfDone()
    }
}

// MARK: Parts

extension TargetRun {
    /// What was collected, as a page of the walk that becomes a part; where the walk was before it, and is with it.
    package func takePage(from previous: RunState.Walk, to walk: RunState.Walk) -> MessageParts.Page {
        hasParts = true
        countUnusable()
        var tokens: BatchTokens?
        if !held.isEmpty {
            var batch = BatchTokens(tracesEachDevice: false, capacity: held.count * 70)
            for push in held { batch.append(BatchTokens.Device(member: push.stored ?? push.token)) }
            tokens = batch
            tally.delay(held.count)
            held = []
        }
        return MessageParts.Page(
            messageID: message.message.entryID,
            target: number,
            previous: previous,
            walk: walk,
            tally: tally,
            unusable: unusableCount,
            hashes: recipients.takeMet(),
            tokens: tokens
        )
    }

    /// Begins the walk anew, but for what Redis knows of it.
    package func restart(_ tally: Tally = Tally(), met hashes: [UInt8] = []) {
        self.tally = tally
        self.tally.delay(tally.unfinished)
        unusableCount = tally.errored
        held = []
        unusable = []
        recipients.restart(met: hashes)
    }

    /// Every page of the walk is a part, or the target ends without: then its last devices are counted here.
    package func walkBecameParts() {
        hasParts = true
        isWalked = true
        endWalk()
        if let ending { end(ending) } else { completeIfDone() }
    }

    /// Every page of the walk had become a part before this worker took the entry over.
    package func resumeAfterWalk(_ tally: Tally) {
        restart(tally)
        hasParts = true
        isWalked = true
        walkEnded = true
        completeIfDone()
    }

    /// Takes the devices of a part and gives the pushes that are left to do.
    package func take(part: BatchTokens) -> [Push] {
        let kind = target.registrationKind
        let devices = part.devices ?? []
        if part.isRetry, message.kind == .batches { retriedDevices = devices.count }
        for device in devices {
            let token = kind.tokenToSend(device.member)
            var push = Push(run: self, token: token, stored: token == device.member ? nil : device.member)
            push.tries = device.tries
            expect(push)
        }
        walkEnded = true
        return release()
    }
}

/// Why a target ends before its fan-out.
package enum TargetEnding: Equatable, Sendable {
    /// Its time to live ran out before the message was taken up.
    case expired
    /// Nothing can be sent: the provider's word, and a sentence.
    case failed(reason: String, text: String)

    /// For logs.
    package var word: String {
        switch self {
        case .expired: "expired"
        case .failed(let reason, _): reason
        }
    }
}

/// One push: one device of one target.
package struct Push {
    package let run: TargetRun
    /// The token as it is sent.
    package let token: [UInt8]
    /// The set's member, when it is spelled otherwise than the token.
    package let stored: [UInt8]?
    /// What its earlier attempts ended with.
    package var tries = Tries()

    package init(run: TargetRun, token: [UInt8], stored: [UInt8]?) {
        self.run = run
        self.token = token
        self.stored = stored
    }
}
