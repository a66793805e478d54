/// One message on its way: it is finished when each of its targets is.
///
/// Confined to the worker's loop. Held by its target runs, and so by the pushes that have no outcome yet.
package final class MessageRun {
    package let message: QueuedMessage
    /// Nil unless the message asks for traces: then nothing is traced and nothing costs anything.
    package let trace: MessageTrace?
    private var unfinishedTargets: Int
    private let whenFinished: (MessageRun) -> Void

    /// `whenFinished` is called once, when `targetCount` targets have finished.
    package init(
        _ message: QueuedMessage,
        trace: MessageTrace?,
        targetCount: Int,
        whenFinished: @escaping (MessageRun) -> Void
    ) {
        self.message = message
        self.trace = trace
        unfinishedTargets = targetCount
        self.whenFinished = whenFinished
    }

    /// One target has finished.
    package func targetFinished() {
        unfinishedTargets -= 1
        if unfinishedTargets == 0 { whenFinished(self) }
    }
}
