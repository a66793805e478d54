/// The walk over one registration set; a state, changed by ``FanOut`` alone.
final class Walk {
    enum Phase {
        /// Its devices are kept until the set's end is reached.
        case direct
        /// Each page becomes a part.
        case intoParts
        /// Where it is must be read from Redis.
        case mustReload
    }

    /// The cursor of a walk's beginning, and of its end (Redis: SCAN).
    static let start = "0"

    let run: TargetRun
    let route: Route?
    let key: [UInt8]
    var phase = Phase.direct
    var cursor = Walk.start
    /// The run id of the server that gave the cursor, and that alone understands it.
    var server: String?
    var isScanning = false
    var isScanned = false
    var isWaitingForParts = false
    var unconfirmedPages = 0
    /// Where the last page that was sent to Redis has brought it.
    var added = RunState.Walk.none
    /// What of the target is unfinished, over all workers, as Redis said last.
    var unfinished = UnfinishedParts()

    init(run: TargetRun, route: Route?, key: [UInt8]) {
        self.run = run
        self.route = route
        self.key = key
    }

    /// Whether another page may be asked for.
    var mayScan: Bool {
        !isScanning && !isScanned && !isWaitingForParts && unconfirmedPages < FanOut.maximumUnconfirmedPages
    }

    /// Whether no answer is awaited.
    var isQuiet: Bool { !isScanning && unconfirmedPages == 0 }
}

/// Which big sets are walked: one for each route, the others in the order in which they came.
///
/// A value type without I/O.
struct WalkTurns {
    private var queues: [ObjectIdentifier: [Walk]] = [:]

    /// Whether the walk has its turn; else it comes with ``leave(_:)`` of those before it.
    mutating func take(for walk: Walk) -> Bool {
        guard let route = walk.route else { return true }
        queues[ObjectIdentifier(route), default: []].append(walk)
        return queues[ObjectIdentifier(route)]?.first === walk
    }

    /// Ends a walk's turn, or its waiting; gives the one whose turn comes with that.
    mutating func leave(_ walk: Walk) -> Walk? {
        guard let route = walk.route, let queue = queues[ObjectIdentifier(route)],
            let index = queue.firstIndex(where: { $0 === walk })
        else { return nil }
        var rest = queue
        rest.remove(at: index)
        queues[ObjectIdentifier(route)] = rest.isEmpty ? nil : rest
        return index == 0 ? rest.first : nil
    }
}
