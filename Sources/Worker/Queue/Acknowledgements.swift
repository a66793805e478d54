/// Which finished entries Redis has yet to be told of.
///
/// A value type without I/O.
package struct Acknowledgements {
    private var fresh: [[UInt8]] = []
    private var sent: [[[UInt8]]] = []

    package init() {}

    package var isEmpty: Bool { fresh.isEmpty && sent.isEmpty }

    /// Notes an entry; true when it is the first of a new batch.
    package mutating func add(_ entryID: [UInt8]) -> Bool {
        fresh.append(entryID)
        return fresh.count == 1
    }

    /// The entries to tell Redis now.
    package mutating func takeBatch() -> [[UInt8]]? {
        guard !fresh.isEmpty else { return nil }
        defer { fresh = [] }
        sent.append(fresh)
        return fresh
    }

    /// Redis has answered a batch; answers come in the order of the batches.
    package mutating func confirmed(_ batch: [[UInt8]]) {
        if let index = sent.firstIndex(of: batch) { sent.remove(at: index) }
    }

    /// Redis did not take a batch: it is to be sent again, with the next one.
    package mutating func refused(_ batch: [[UInt8]]) {
        guard let index = sent.firstIndex(of: batch) else { return }
        sent.remove(at: index)
        fresh = batch + fresh
    }

    /// Answers that are still out will not come: their batches are to be sent again.
    package mutating func connectionLost() {
        fresh = sent.flatMap { $0 } + fresh
        sent = []
    }
}
