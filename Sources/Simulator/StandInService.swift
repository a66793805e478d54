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
    /// More streams are open than were allowed.
    func tooManyStreams(_ connection: StandInConnection, streamID: Int32)
}

/// What all services of a simulator share.
final class StandInState {
    let options: SimulatorOptions
    let oracle = Oracle()
    var script: Script
    var counts: [String: Int] = [:]
    private var members: [ObjectIdentifier: StandInConnection] = [:]

    init(_ options: SimulatorOptions) {
        self.options = options
        script = options.script
    }

    /// The connections that have brought a request.
    var connections: [StandInConnection] { Array(members.values) }

    /// What is remembered of a connection.
    @discardableResult
    func opened(_ connection: HTTP2ServerConnection, on loop: EventLoop) -> StandInConnection {
        if let known = members[ObjectIdentifier(connection)] { return known }
        let new = StandInConnection(connection, answerDelay: options.answerDelay, loop: loop)
        members[ObjectIdentifier(connection)] = new
        return new
    }

    func closed(_ connection: HTTP2ServerConnection) { members[ObjectIdentifier(connection)] = nil }

    func count(_ name: String) { counts[name, default: 0] += 1 }
}
