package import HTTP2

/// One target of a message on its way: its devices, its pushes' outcomes, its traces.
///
/// Takes the pages of the set's walk, gives out pushes, counts outcomes, and tells its message when all is done.
/// Confined to the worker's loop; held by the walk and by each push without an outcome.
package final class TargetRun {
    /// With more devices than this `sent` is only counted, and at most as many other devices are traced.
    package static let maximumTracedDevices = 100

    package let message: MessageRun
    package let target: Target
    /// Why nothing is sent at all; the devices are counted nevertheless, for the traces.
    package let ending: TargetEnding?
    package private(set) var tally = Tally()
    /// The requests' common part, made by the provider for the first push.
    package var template: HTTP2RequestTemplate?
    /// Makes the `apns-id` of each push.
    package private(set) lazy var apnsID = APNsID(messageID: message.message.id, target: target)

    private var recipients: Recipients
    private var held: [Push] = []
    private var unusable: [[UInt8]] = []
    private var walkEnded = false
    private var deviceTracesLeft = TargetRun.maximumTracedDevices

    package init(message: MessageRun, target: Target, ending: TargetEnding?) {
        self.message = message
        self.target = target
        self.ending = ending
        recipients = Recipients(kind: target.registrationKind, exclusions: target.exclusions)
    }

    /// Whether the target's devices are traced one by one; final once pushes are released.
    private var tracesEachDevice: Bool { tally.expected <= Self.maximumTracedDevices }

    /// Takes a page of the set and gives the pushes that can go now.
    ///
    /// Pushes are held back until it is known whether the devices are traced one by one: until the walk has ended or
    /// more than ``maximumTracedDevices`` were found.
    package func take(page: [[UInt8]], isLast: Bool) -> [Push] {
        for member in page {
            switch recipients.decide(member) {
            case .repeated: break
            case .excluded: tally.exclude()
            case .unusable:
                tally.expect()
                if ending == nil { unusable.append(member) }
            case .device(let token, let stored):
                tally.expect()
                if ending == nil { held.append(Push(run: self, token: token, stored: stored)) }
            }
        }
        if isLast {
            walkEnded = true
            message.trace?.devices(target, tally)
        }
        guard walkEnded || !tracesEachDevice else { return [] }
        return release()
    }

    /// The walk cannot go on; what was found so far is all.
    package func walkFailed(reason: String, text: String) -> [Push] {
        message.trace?.error(target, reason: reason, text: text)
        return take(page: [], isLast: true)
    }

    /// Notes the outcome of one push, after its traces.
    package func finish(_ outcome: Outcome) {
        tally.count(outcome)
        completeIfDone()
    }

    /// The trace that one device's event goes to; nil when it is not traced.
    package func deviceTrace(isSent: Bool = false) -> MessageTrace? {
        guard let trace = message.trace else { return nil }
        if tracesEachDevice { return trace }
        guard !isSent, deviceTracesLeft > 0 else { return nil }
        deviceTracesLeft -= 1
        return trace
    }

    private func release() -> [Push] {
        if let ending {
            if walkEnded { end(ending) }
            return []
        }
        for member in unusable {
            deviceTrace()?.unusable(target, member: member)
            tally.count(.errored)
        }
        unusable = []
        let pushes = held
        held = []
        completeIfDone()
        return pushes
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

    private func completeIfDone() {
        guard walkEnded, held.isEmpty, unusable.isEmpty, tally.unfinished == 0 else { return }
        message.trace?.completed(target, tally)
        message.targetFinished()
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
    /// 1 for the first attempt; attempts that the provider did not process do not count.
    package var attempt = 1
    /// How often it was sent again since the provider had not processed it.
    package var resends = 0
    /// Whether it has made its one attempt with a refreshed credential.
    package var isRefreshed = false

    package init(run: TargetRun, token: [UInt8], stored: [UInt8]?) {
        self.run = run
        self.token = token
        self.stored = stored
    }
}
