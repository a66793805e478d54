/// Push messages that were heard and that Redis has not confirmed to have in the queue.
///
/// Bounded by the bytes it holds. A value type without I/O.
package struct UnwrittenMessages {
    private struct Entry {
        let channel: [UInt8]
        let message: [UInt8]
        var isWriting: Bool

        var bytes: Int { channel.count + message.count }
    }

    private let maximumBytes: Int
    private var entries: [Int: Entry] = [:]
    private var bytes = 0
    private var nextNumber = 0

    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }

    /// Keeps a message and gives its number; nil when there is no room for it.
    package mutating func add(channel: [UInt8], message: [UInt8]) -> Int? {
        let entry = Entry(channel: channel, message: message, isWriting: false)
        guard bytes + entry.bytes <= maximumBytes else { return nil }
        bytes += entry.bytes
        defer { nextNumber += 1 }
        entries[nextNumber] = entry
        return nextNumber
    }

    /// Gives a message out for writing; nil when it is being written.
    package mutating func take(_ number: Int) -> (channel: [UInt8], message: [UInt8])? {
        guard var entry = entries[number], !entry.isWriting else { return nil }
        entry.isWriting = true
        entries[number] = entry
        return (entry.channel, entry.message)
    }

    /// Redis has the message.
    package mutating func written(_ number: Int) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        bytes -= entry.bytes
    }

    /// Redis does not have it, or did not say so.
    package mutating func failed(_ number: Int) {
        entries[number]?.isWriting = false
    }

    /// The messages to write again, oldest first.
    package func waiting() -> [Int] {
        entries.filter { !$0.value.isWriting }.keys.sorted()
    }
}
