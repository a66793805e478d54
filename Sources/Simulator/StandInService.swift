import HTTP2
import Transport

/// One provider's behaviour behind a listener.
///
/// Confined to the simulator's loop.
protocol StandInService: AnyObject {
    /// For statistics.
    var name: String { get }
    /// Streams that a new connection may have open.
    var initialStreamLimit: UInt32 { get }
    /// A connection stands.
    func opened(_ connection: StandInConnection)
    /// What to do with a request.
    func answer(_ request: ReceivedRequest, on connection: StandInConnection) -> StandInAnswer
    /// A request came on a stream more than was allowed.
    func tooManyStreams(_ connection: StandInConnection, streamID: Int32)
}

extension StandInService {
    func opened(_ connection: StandInConnection) {}
}

/// What all services of a simulator share.
final class StandInState {
    let options: SimulatorOptions
    let oracle: Oracle
    var script: Script
    /// For the connections that come from now on; `conductChanged` tells the servers.
    var conduct: Conduct {
        didSet { conductChanged(conduct) }
    }
    var conductChanged: (Conduct) -> Void = { _ in }
    let tally: PushTally?
    /// Connections so far.
    private(set) var openedCount = 0
    private(set) var arrivals: [String: Arrivals] = [:]
    private var members: [ObjectIdentifier: StandInConnection] = [:]
    private var pace: AnswerPace?

    init(_ options: SimulatorOptions) {
        self.options = options
        oracle = Oracle(devices: options.recordedDevices)
        pace = options.answersPerSecond.map(AnswerPace.init)
        script = options.script
        conduct = options.conduct
        tally = options.isTallied ? PushTally() : nil
    }

    /// How long an answer waits for its turn.
    func answerDelay(now: LoopInstant) -> Duration { pace?.take(now: now) ?? .zero }

    /// The connections that stand.
    var connections: [StandInConnection] { Array(members.values) }

    func opened(_ connection: StandInConnection) {
        openedCount += 1
        members[ObjectIdentifier(connection)] = connection
    }

    /// Cuts the connection with the most open requests.
    func cutBusiest(_ cut: Conduct.Cut) {
        let candidates = members.values.filter { conduct.isFor($0.gateway) && $0.gateway != "token" && !$0.isMute }
        candidates.max { $0.openCount < $1.openCount }?.cut(cut)
    }

    func closed(_ connection: StandInConnection) { members[ObjectIdentifier(connection)] = nil }

    /// What came for a provider, for its servers to count.
    func arrivals(of name: String) -> Arrivals {
        if let known = arrivals[name] { return known }
        let new = Arrivals()
        arrivals[name] = new
        return new
    }
}

/// Gives answers their turn, so many a second; a value type without I/O.
struct AnswerPace {
    private let interval: Duration
    private var next = LoopInstant(nanoseconds: 0)

    init(perSecond count: Int) {
        interval = .seconds(1) / max(1, count)
    }

    /// Takes the next turn, and says how long it is until then.
    mutating func take(now: LoopInstant) -> Duration {
        let turn = max(now, next)
        next = turn + interval
        return turn - now
    }
}

/// How many requests came for one provider, and when the first and the last did.
final class Arrivals {
    private(set) var count = 0
    /// Unix microseconds, exact to one turn of the loop; nil before the first.
    private(set) var first: Int64?
    private(set) var last: Int64?
    private var turn = LoopInstant(nanoseconds: 0)

    func add(on loop: EventLoop) {
        count += 1
        guard loop.now != turn else { return }
        turn = loop.now
        last = currentUnixMicroseconds()
        first = first ?? last
    }

    func reset() {
        count = 0
        first = nil
        last = nil
        turn = LoopInstant(nanoseconds: 0)
    }
}
