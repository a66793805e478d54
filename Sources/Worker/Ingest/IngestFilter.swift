import Transport

/// Which channels carry no messages of apps: the debug channels and the workers' own control channel.
package struct IngestFilter: Sendable {
    private let debugChannel: DebugChannel
    private let marks: [UInt8]

    package init(debugChannel: DebugChannel, marks: [UInt8]) {
        self.debugChannel = debugChannel
        self.marks = marks
    }

    /// Whether messages of this channel are never inspected.
    package func isControl(_ channel: RawSpan) -> Bool {
        debugChannel.includes(channel) || channel.equals(marks)
    }
}
