/// One action at one moment of a loop; confined to that loop, which owns it until it fires or is cancelled.
package final class LoopTimer {
    fileprivate var action: (() -> Void)?
    private let heap: TimerHeap

    fileprivate init(heap: TimerHeap, action: @escaping () -> Void) {
        self.heap = heap
        self.action = action
    }

    /// Whether the timer will still fire.
    package var isPending: Bool { action != nil }

    /// Forgets the action; without effect after it fired.
    ///
    /// May be called from within any callback.
    package func cancel() {
        guard action != nil else { return }
        action = nil
        heap.timerWasCancelled()
    }
}

/// The timers of one loop: a binary heap by deadline, equal deadlines in the order they were made.
///
/// A cancelled timer stays as an empty entry until it comes up, or until empty entries are the majority.
final class TimerHeap {
    private struct Entry {
        let deadline: LoopInstant
        let sequence: UInt64
        let timer: LoopTimer

        func comes(before other: Entry) -> Bool {
            deadline == other.deadline ? sequence < other.sequence : deadline < other.deadline
        }
    }

    private var entries: [Entry] = []
    private var nextSequence: UInt64 = 0
    private var cancelledCount = 0

    /// How many entries there are, cancelled ones included.
    var count: Int { entries.count }

    func add(deadline: LoopInstant, action: @escaping () -> Void) -> LoopTimer {
        let timer = LoopTimer(heap: self, action: action)
        entries.append(Entry(deadline: deadline, sequence: nextSequence, timer: timer))
        nextSequence += 1
        siftUp(entries.count - 1)
        return timer
    }

    /// The deadline of the next timer that is not cancelled.
    func nextDeadline() -> LoopInstant? {
        while let first = entries.first {
            if first.timer.action != nil { return first.deadline }
            removeFirst()
            cancelledCount -= 1
        }
        return nil
    }

    /// Runs what is due.
    ///
    /// Timers made meanwhile wait for the next call, so an action may plan itself again.
    func fire(now: LoopInstant) {
        let end = nextSequence
        while let first = entries.first, first.deadline <= now, first.sequence < end {
            removeFirst()
            guard let action = first.timer.action else {
                cancelledCount -= 1
                continue
            }
            first.timer.action = nil
            action()
        }
    }

    func removeAll() {
        for entry in entries { entry.timer.action = nil }
        entries.removeAll()
        cancelledCount = 0
    }

    fileprivate func timerWasCancelled() {
        cancelledCount += 1
        // 64: below that the empty entries cost less than the sweep.
        guard cancelledCount > 64, cancelledCount > entries.count / 2 else { return }
        entries.removeAll { $0.timer.action == nil }
        cancelledCount = 0
        for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    private func removeFirst() {
        guard let last = entries.popLast(), !entries.isEmpty else { return }
        entries[0] = last
        siftDown(0)
    }

    private func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].comes(before: entries[parent]) else { return }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    private func siftDown(_ start: Int) {
        var index = start
        while true {
            var first = index
            let left = 2 * index + 1
            if left < entries.count, entries[left].comes(before: entries[first]) { first = left }
            if left + 1 < entries.count, entries[left + 1].comes(before: entries[first]) { first = left + 1 }
            if first == index { return }
            entries.swapAt(index, first)
            index = first
        }
    }
}
