package import Transport

/// Devices that get too much: all pushes to them wait, others do not.
///
/// Knows for each one until when it is spared, and how often in a row its provider said so; a device is forgotten when
/// it accepts a push, and some time after its last wait. A value type without I/O; bounded.
package struct DeviceHolds: Sendable {
    /// Devices that are known at one time; what is beyond waits push by push.
    package static let maximumCount = 10_000
    /// How long a device is remembered after its wait.
    package static let memory: Duration = .seconds(1800)

    private struct Hold {
        var until: LoopInstant
        var strikes: Int
    }

    private var holds: [UInt64: Hold] = [:]

    package init() {}

    package var isEmpty: Bool { holds.isEmpty }
    package var count: Int { holds.count }

    /// How often in a row the provider has said by now that the device gets too much.
    package func strikes(_ token: [UInt8]) -> Int {
        holds[TokenHash.of(token)]?.strikes ?? 0
    }

    /// The provider says that the device gets too much: it is spared for so long.
    package mutating func hold(_ token: [UInt8], for duration: Duration, strikes: Int, now: LoopInstant) {
        let key = TokenHash.of(token)
        if holds[key] == nil, holds.count >= Self.maximumCount {
            holds = holds.filter { $0.value.until > now }
            guard holds.count < Self.maximumCount else { return }
        }
        let until = max(holds[key]?.until ?? now, now + duration)
        holds[key] = Hold(until: until, strikes: strikes)
    }

    /// How long pushes to the device have to wait; nil: not at all.
    package func wait(_ token: [UInt8], now: LoopInstant) -> Duration? {
        guard let hold = holds[TokenHash.of(token)], hold.until > now else { return nil }
        return hold.until - now
    }

    /// The provider accepted a push to the device.
    package mutating func release(_ token: [UInt8]) {
        holds[TokenHash.of(token)] = nil
    }

    /// Forgets devices whose wait is long over.
    package mutating func forget(now: LoopInstant) {
        holds = holds.filter { now - $0.value.until < Self.memory }
    }
}
