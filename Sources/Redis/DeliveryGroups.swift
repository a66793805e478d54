import Transport

/// Tells which deliveries belong to the same publish, when several names of a subscription match a channel.
///
/// A server delivers one publish to a client by all matching names without anything in between, its channel first,
/// then each pattern once. So a delivery begins a new publish when its channel is another one than before, or when
/// its name has had its delivery already. Equal messages published twice are two publishes. A value type without I/O.
struct DeliveryGroups {
    /// nil stands for the channel's own subscription.
    private let patterns: [[UInt8]]
    private let channels: [[UInt8]]
    private let isAlone: Bool
    /// The length of the channels' names, if it is the same for all: most names are told apart by it.
    private let channelLength: Int?
    private var channel: [UInt8] = []
    /// Which names have had their delivery: the patterns, and last the channel's own subscription.
    private var seen: [Bool]

    init(patterns: [[UInt8]], channels: [[UInt8]]) {
        self.patterns = patterns
        self.channels = channels
        isAlone = patterns.count <= 1
        let lengths = Set(channels.map(\.count))
        channelLength = lengths.count == 1 ? lengths.first : nil
        seen = Array(repeating: false, count: patterns.count + 1)
    }

    /// Whether this delivery is the first one of its publish.
    mutating func isFirst(channel: RawSpan, pattern: RawSpan?) -> Bool {
        // One pattern alone: what it matches comes twice only if the channel has a subscription of its own.
        if isAlone {
            if pattern == nil || channels.isEmpty { return true }
            if let channelLength, channelLength != channel.byteCount { return true }
            return !channels.contains { channel.equals($0) }
        }
        var name = patterns.count
        if let pattern {
            for index in patterns.indices where pattern.equals(patterns[index]) { name = index }
        }
        if !seen[name], channel.equals(self.channel) {
            seen[name] = true
            return false
        }
        begin(channel: channel, name: name)
        return true
    }

    /// Forgets what was before, for a new connection.
    mutating func reset() {
        channel = []
        for index in seen.indices { seen[index] = true }
    }

    private mutating func begin(channel: RawSpan, name: Int) {
        for index in seen.indices { seen[index] = false }
        seen[name] = true
        if !channel.equals(self.channel) { self.channel = channel.copiedBytes }
    }
}
