import Transport

@testable import Worker

/// SplitMix64 (Steele, Lea, Flood 2014): the same sequence for the same seed, everywhere.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to a limit that is above 0.
    mutating func below(_ limit: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 33) % limit
    }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// What is left out, to see that the model notices.
enum Ablation: String, CaseIterable, Sendable {
    case suffixOnMarks
    case previousCheck
    case retention
    case countingEveryMessage
    case leavingOnlyWhenCovered
}

/// One Redis and up to four replicas, with every order of events, pauses, losses and crashes that chance picks.
final class IngestModel {
    /// What a published message is.
    enum Kind {
        case plain
        case push
        /// A push for replicas of a newer version only.
        case newPush
    }

    static let maximumReplicas = 4

    let ablation: Ablation?
    /// Nothing out of the ordinary: all are of one version, and join at a mark.
    let isCalm: Bool
    var random: SeededRandom
    var redis = SimulatedRedis()
    var now: Int64 = 1_000_000
    var replicas: [ModelReplica] = []
    private(set) var kinds: [Kind] = []
    /// Requests of connections that are gone, which Redis may still carry out.
    private var ghosts: [(me: Int, requests: [ModelReplica.Request])] = []
    private var everWritten: Set<Int> = []
    private var heardNameless: Set<Int> = []
    private var hadOldVersion = false
    private(set) var failures: [String] = []
    private var startCount = 0

    init(seed: UInt64, ablation: Ablation? = nil, isCalm: Bool = false) {
        random = SeededRandom(seed: seed)
        self.ablation = ablation
        self.isCalm = isCalm
        redis.checksPrevious = ablation != .previousCheck
        for _ in 0...random.below(Self.maximumReplicas) { startReplica() }
    }

    var instant: LoopInstant { LoopInstant(nanoseconds: now * 1_000_000) }

    /// Plays so many random steps, then lets everything come to rest, and checks.
    func play(steps: Int) -> [String] {
        for replica in replicas where random.chance(90) { join(replica) }
        for _ in 0..<steps { step() }
        settle()
        check()
        return failures + redis.outOfOrder
    }

    // MARK: Steps

    private func step() {
        now += Int64(random.below(60))
        switch random.below(100) {
        case 0..<30: publish()
        case 30..<70: work()
        case 70..<80: now += Int64(random.below(900))
        case 80..<84: pick { $0.isPaused.toggle() }
        case 84..<87: pick { cutCommands($0) }
        case 87..<90: pick { cutSubscription($0) }
        case 90..<92: pick { kill($0) }
        case 92..<94: if replicas.count < Self.maximumReplicas { startReplica() }
        case 94..<96: pick { $0.state.stop() }
        case 96: random.chance(60) ? crash() : redis.isFull.toggle()
        case 97: redis.prune(keeping: 40, now: now)
        default: ghost()
        }
    }

    func publish() {
        let kind: Kind = random.chance(60) ? .push : random.chance(25) ? .newPush : .plain
        kinds.append(kind)
        for replica in replicas where replica.isListening {
            replica.inbox.append(.message(kinds.count - 1, kind))
        }
    }

    private func work() {
        let count = 1 + random.below(replicas.count + 1)
        for _ in 0..<count {
            pick { replica in
                guard !replica.isPaused else { return }
                if !replica.isListening, replica.inbox.isEmpty, !replica.state.isStopping { join(replica) }
                turn(replica, limit: 1 + random.below(6))
            }
        }
    }

    private func pick(_ body: (ModelReplica) -> Void) {
        guard !replicas.isEmpty else { return }
        body(replicas[random.below(replicas.count)])
    }

    private func startReplica() {
        startCount += 1
        let isNew = isCalm || random.chance(80)
        if !isNew { hadOldVersion = true }
        var timing = IngestState.Timing()
        if ablation == .retention { timing.retention = .zero }
        replicas.append(ModelReplica(id: startCount, isNewVersion: isNew, state: IngestState(timing: timing)))
    }

    // MARK: Faults

    private func join(_ replica: ModelReplica) {
        guard !replica.isListening else { return }
        if !isCalm, random.chance(4) {
            replica.inbox.append(.joined(nil))
        } else {
            let mark = redis.join(suffix: suffix(), now: now)
            deliver(mark)
            replica.inbox.append(.joined(mark))
        }
        replica.isListening = true
    }

    private func cutSubscription(_ replica: ModelReplica) {
        guard replica.isListening else { return }
        replica.isListening = false
        // What was on its way may still arrive before the end is noticed.
        replica.inbox.removeLast(random.below(replica.inbox.count + 1))
        replica.inbox.append(.lost)
    }

    private func cutCommands(_ replica: ModelReplica) {
        if random.chance(50) { ghosts.append((replica.id, replica.requests)) }
        replica.requests = []
        replica.answers.removeLast(random.below(replica.answers.count + 1))
        replica.answers.append(.lost)
    }

    private func kill(_ replica: ModelReplica) {
        cutCommands(replica)
        replicas.removeAll { $0 === replica }
    }

    private func crash() {
        ghosts = []
        for replica in replicas {
            if !replica.answers.contains(where: { $0.isLoss }) { cutCommands(replica) }
            cutSubscription(replica)
        }
        ghosts = []
        // Started again elsewhere its clock may be far behind.
        let clockStep = random.chance(30) ? -3_600_000 : Int64(random.below(2000)) - 1500
        redis.crash(losingAfter: now - Int64(random.below(2000)), clockStep: clockStep)
        now += Int64(random.below(1500))
    }

    /// Redis carries out what a lost connection had sent.
    private func ghost() {
        guard !ghosts.isEmpty else { return }
        let index = random.below(ghosts.count)
        guard !ghosts[index].requests.isEmpty else {
            ghosts.remove(at: index)
            return
        }
        let request = ghosts[index].requests.removeFirst()
        _ = execute(request, me: ghosts[index].me)
    }

    // MARK: Working

    /// One replica hears, learns, and sends, in a random order; Redis carries out some of what it has sent.
    func turn(_ replica: ModelReplica, limit: Int) {
        for _ in 0..<limit {
            switch random.below(3) {
            case 0: hear(replica)
            case 1: learn(replica)
            default:
                guard !replica.requests.isEmpty else { continue }
                replica.answers.append(execute(replica.requests.removeFirst(), me: replica.id))
            }
        }
        send(replica)
        leaveIfDone(replica)
    }

    func hear(_ replica: ModelReplica) {
        guard !replica.inbox.isEmpty else { return }
        switch replica.inbox.removeFirst() {
        case .joined(let mark): replica.state.joined(at: mark)
        case .lost: replica.state.subscriptionLost()
        case .mark(let mark): replica.state.heardMark(mark, now: instant)
        case .message(let push, let kind):
            let isPush = kind == .push || kind == .newPush && replica.isNewVersion
            if isPush || ablation != .countingEveryMessage { replica.state.heard() }
            guard isPush else { return }
            if replica.state.current == nil { heardNameless.insert(push) } else { replica.heard.insert(push) }
            let isKept = replica.state.remember(channel: [], message: bytes(push), now: instant)
            if !isKept { failures.append("message \(push) was dropped") }
        }
    }

    func learn(_ replica: ModelReplica) {
        guard !replica.answers.isEmpty else { return }
        switch replica.answers.removeFirst() {
        case .lost: replica.reset()
        case .beat(let beat, let answer):
            replica.isBeating = false
            replica.state.answered(beat, answer, now: instant)
        case .write(let ticket, let count): replica.state.answered(ticket, count: count)
        case .refusal(let ticket): replica.state.refused(ticket, now: instant)
        }
    }

    func send(_ replica: ModelReplica) {
        guard !replica.answers.contains(where: { $0.isLoss }) else { return }
        if !replica.isBeating, now - replica.lastBeat >= 1000 {
            replica.isBeating = true
            replica.lastBeat = now
            replica.requests.append(.beat(replica.state.beat(now: instant)))
        }
        var count = 0
        while let write = replica.state.nextWrite(now: instant) {
            replica.requests.append(.write(write))
            count += 1
            if count > 2000 { return failures.append("replica \(replica.id) writes without end") }
        }
    }

    private func leaveIfDone(_ replica: ModelReplica) {
        guard replica.state.isStopping else { return }
        if ablation == .leavingOnlyWhenCovered { return remove(replica) }
        guard replica.state.mayUnsubscribe else { return }
        replica.isListening = false
        replica.inbox = []
        replica.state.subscriptionLost()
        guard replica.state.isSettled else { return }
        remove(replica)
    }

    private func remove(_ replica: ModelReplica) {
        for push in replica.heard where mustBeWritten(push) && !everWritten.contains(push) {
            failures.append("replica \(replica.id) left before message \(push) was written")
        }
        replicas.removeAll { $0 === replica }
    }

    /// Not what was heard without a name, nor what an older version passes over.
    private func mustBeWritten(_ push: Int) -> Bool {
        !heardNameless.contains(push) && (kinds[push] == .push || kinds[push] == .newPush && !hadOldVersion)
    }

    private func execute(_ request: ModelReplica.Request, me: Int) -> ModelReplica.Answer {
        switch request {
        case .beat(let beat):
            let answer = redis.beat(beat, me: me, suffix: suffix(), now: now)
            if let published = answer.published { deliver(published) }
            return .beat(beat, answer)
        case .write(let write):
            if redis.isFull, random.chance(50) { return .refusal(write.ticket) }
            let push = number(write.message.message)
            everWritten.insert(push)
            return .write(write.ticket, redis.write(write, push: push, now: now))
        }
    }

    private func deliver(_ mark: StretchID) {
        for replica in replicas where replica.isListening { replica.inbox.append(.mark(mark)) }
    }

    private func suffix() -> UInt32 {
        ablation == .suffixOnMarks ? 1 : UInt32(truncatingIfNeeded: random.next())
    }

    private func bytes(_ push: Int) -> [UInt8] { [UInt8(push >> 8), UInt8(push & 255)] }

    private func number(_ bytes: [UInt8]) -> Int { Int(bytes[0]) << 8 | Int(bytes[1]) }

    // MARK: The end

    /// No more faults: every replica works until nothing is left to do.
    func settle(rounds: Int = 60) {
        redis.isFull = false
        for replica in replicas { replica.isPaused = false }
        for _ in 0..<rounds {
            now += 400
            for replica in replicas {
                if !replica.isListening, replica.inbox.isEmpty, !replica.state.isStopping { join(replica) }
                while !replica.inbox.isEmpty { hear(replica) }
                for _ in 0..<2 {
                    send(replica)
                    for request in replica.requests { replica.answers.append(execute(request, me: replica.id)) }
                    replica.requests = []
                    while !replica.answers.isEmpty { learn(replica) }
                }
                leaveIfDone(replica)
            }
        }
    }

    private func check() {
        var written = [Int](repeating: 0, count: kinds.count)
        for entry in redis.entries { written[entry.push] += 1 }
        for (push, count) in written.enumerated() where !heardNameless.contains(push) {
            if count > 1 { failures.append("message \(push) was written \(count) times") }
            guard count == 0, mustBeWritten(push) else { continue }
            if let replica = replicas.first(where: { $0.heard.contains(push) }) {
                failures.append("message \(push) was lost, although replica \(replica.id) heard it")
            }
        }
    }
}

/// One replica: its state, and what is on its way to it and from it.
final class ModelReplica {
    enum Heard {
        case joined(StretchID?)
        case mark(StretchID)
        case message(Int, IngestModel.Kind)
        case lost
    }

    enum Request {
        case beat(IngestBeat)
        case write(IngestWrite)
    }

    enum Answer {
        case beat(IngestBeat, IngestBeatAnswer)
        case write(IngestWrite.Ticket, Int?)
        case refusal(IngestWrite.Ticket)
        case lost

        var isLoss: Bool {
            guard case .lost = self else { return false }
            return true
        }
    }

    let id: Int
    let isNewVersion: Bool
    var state: IngestState
    var isPaused = false
    var isListening = false
    var isBeating = false
    var lastBeat: Int64 = 0
    var inbox: [Heard] = []
    var requests: [Request] = []
    var answers: [Answer] = []
    var heard: Set<Int> = []

    init(id: Int, isNewVersion: Bool, state: IngestState) {
        self.id = id
        self.isNewVersion = isNewVersion
        self.state = state
    }

    /// The command connection was lost, and there is a new one.
    func reset() {
        state.commandsReset()
        isBeating = false
        lastBeat = 0
    }
}
