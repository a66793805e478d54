import Encoding
import Transport

/// Counts pushes by their names, to tell repetitions that have a reason from those that have none.
///
/// A push is known by its `apns-id`, of which 8 bytes of hash are kept. It may come again after an answer that asks for
/// that (429, 5xx), or if its last answer cannot have arrived because its connection was cut. Confined to the
/// simulator's loop.
final class PushTally {
    private enum State: UInt8 {
        /// On its way, or without an answer since its connection was cut.
        case open
        case lost
        /// 429, 5xx: may come again.
        case postponed
        case accepted
        case gone
        case failed
    }

    private var states: [UInt64: State] = [:]
    private var requests = 0
    private var unfounded = 0
    private var repeatedAfterCut = 0

    /// A push has come.
    func came(_ name: UInt64) {
        requests += 1
        switch states.updateValue(.open, forKey: name) {
        case nil, .postponed: break
        case .lost: repeatedAfterCut += 1
        case .open, .accepted, .gone, .failed: unfounded += 1
        }
    }

    /// Its answer is written, and will arrive unless the connection is cut first.
    func answered(_ name: UInt64, status: Int) {
        states[name] =
            switch status {
            case 200: .accepted
            case 410: .gone
            case 429, 500...599: .postponed
            default: .failed
            }
    }

    /// Its connection was cut before its answer can have arrived.
    func lost(_ name: UInt64) { states[name] = .lost }

    /// What was counted, as JSON.
    var text: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        let counts = states.values.reduce(into: [UInt8: Int]()) { $0[$1.rawValue, default: 0] += 1 }
        func add(_ key: String, _ value: Int) {
            json.key(key)
            json.integer(value)
        }
        add("requests", requests)
        add("pushes", states.count)
        add("accepted", counts[State.accepted.rawValue] ?? 0)
        add("gone", counts[State.gone.rawValue] ?? 0)
        add("failed", counts[State.failed.rawValue] ?? 0)
        add("postponed", counts[State.postponed.rawValue] ?? 0)
        add("unanswered", (counts[State.open.rawValue] ?? 0) + (counts[State.lost.rawValue] ?? 0))
        add("repeated_after_cut", repeatedAfterCut)
        add("repeated_without_reason", unfounded)
        json.endObject()
        return json.bytes
    }

    func reset() {
        states = [:]
        (requests, unfounded, repeatedAfterCut) = (0, 0, 0)
    }

    /// What a push is known by (FNV-1a of its `apns-id`).
    static func name(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
