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
    /// What to do with a request.
    func answer(_ request: ReceivedRequest, on connection: StandInConnection) -> StandInAnswer
    /// A request came on a stream more than was allowed.
    func tooManyStreams(_ connection: StandInConnection, streamID: Int32)
}

/// What all services of a simulator share.
final class StandInState {
    let options: SimulatorOptions
    let oracle = Oracle()
    var script: Script
    private(set) var arrivals: [String: Arrivals] = [:]
    private var members: [ObjectIdentifier: StandInConnection] = [:]

    init(_ options: SimulatorOptions) {
        self.options = options
        script = options.script
    }

    /// The connections that stand.
    var connections: [StandInConnection] { Array(members.values) }

    func opened(_ connection: StandInConnection) { members[ObjectIdentifier(connection)] = connection }

    func closed(_ connection: StandInConnection) { members[ObjectIdentifier(connection)] = nil }

    /// What came for a provider, for its servers to count.
    func arrivals(of name: String) -> Arrivals {
        if let known = arrivals[name] { return known }
        let new = Arrivals()
        arrivals[name] = new
        return new
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
