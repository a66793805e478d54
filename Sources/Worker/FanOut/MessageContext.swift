/// A message and what it asks for, shared by everything of it that is on its way in this worker.
///
/// Confined to the worker's loop.
package final class MessageContext {
    package let message: QueuedMessage
    package let plan: Plan
    /// Nil unless the message asks for traces: then nothing is traced and nothing costs anything.
    package let trace: MessageTrace?
    /// How many more devices of a big target this worker traces, by the target's number.
    private var deviceTracesLeft: [Int: Int] = [:]

    package init(_ message: QueuedMessage, plan: Plan, trace: MessageTrace?) {
        self.message = message
        self.plan = plan
        self.trace = trace
    }

    /// Takes one of the device traces that a big target has; nil when they are used up.
    func takeDeviceTrace(of target: Int) -> MessageTrace? {
        guard let trace else { return nil }
        let left = deviceTracesLeft[target] ?? TargetRun.maximumTracedDevices
        guard left > 0 else { return nil }
        deviceTracesLeft[target] = left - 1
        return trace
    }
}

/// The messages of parts that were served last, so that each is fetched and planned once.
///
/// A value type without I/O.
package struct RecentContexts {
    /// Messages kept at most, and bytes of their texts.
    static let maximumCount = 64
    static let maximumBytes = 8 << 20

    private var contexts: [[UInt8]: MessageContext] = [:]
    private var order: [[UInt8]] = []
    private var bytes = 0

    package init() {}

    package subscript(messageID: [UInt8]) -> MessageContext? { contexts[messageID] }

    package mutating func insert(_ context: MessageContext) {
        let messageID = context.message.entryID
        guard contexts[messageID] == nil else { return }
        contexts[messageID] = context
        order.append(messageID)
        bytes += context.message.message.count
        while order.count > 1, order.count > Self.maximumCount || bytes > Self.maximumBytes {
            bytes -= contexts.removeValue(forKey: order.removeFirst())?.message.message.count ?? 0
        }
    }
}
