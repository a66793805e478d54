package import Transport

/// What Redis has confirmed in the last seconds, to be done again should it have lost them.
///
/// A Redis whose machine fails loses up to a second that its append-only file had not brought to disk (Redis:
/// "appendfsync everysec"). Each write is noted in the order in which Redis made it, and may be made twice without harm.
/// Confined to the worker's loop.
package final class RecentWrites {
    /// How long Redis may take to bring a write to disk: a second, and time to spare for a slow disk.
    package static let lifetime: Duration = .seconds(3)

    private let loop: EventLoop
    private var writes: [(at: LoopInstant, again: () -> Void)] = []
    private var server: String?
    private var isConnected = false
    private var trimTimer: LoopTimer?

    package init(loop: EventLoop) {
        self.loop = loop
    }

    /// Writes that would be made again.
    package var count: Int { writes.count }

    /// Redis has confirmed a write.
    package func note(_ again: @escaping () -> Void) {
        writes.append((loop.now, again))
        planTrim()
    }

    /// The connection is lost: what was written up to now is kept until it is known which server comes next.
    package func connectionLost() {
        isConnected = false
        trimTimer?.cancel()
        trimTimer = nil
    }

    /// The connection leads to a server with this run id; answers how many writes were made again.
    @discardableResult
    package func connected(to runID: String) -> Int {
        defer { planTrim() }
        isConnected = true
        let isAnother = server != nil && server != runID
        server = runID
        guard isAnother else { return 0 }
        let lost = writes
        // They may be lost once more.
        writes = lost.map { (loop.now, $0.again) }
        for write in lost { write.again() }
        return lost.count
    }

    private func planTrim() {
        guard isConnected, trimTimer == nil, !writes.isEmpty else { return }
        trimTimer = loop.schedule(after: Self.lifetime) { [self] in
            trimTimer = nil
            let oldest = loop.now - Self.lifetime
            writes.removeSubrange(..<(writes.firstIndex { $0.at > oldest } ?? writes.endIndex))
            planTrim()
        }
    }

    package func close() {
        trimTimer?.cancel()
        writes = []
        isConnected = false
    }
}
