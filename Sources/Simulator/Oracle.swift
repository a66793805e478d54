import Encoding

/// What the stand-ins have received, as JSON lines: the oracle of tests.
///
/// Bounded: beyond ``maximumBytes`` the oldest lines are forgotten, and counted. Confined to the simulator's loop.
package final class Oracle {
    package static let maximumBytes = 512 << 20

    private var lines: [[UInt8]] = []
    private var firstKept = 0
    private var bytes = 0
    package private(set) var forgotten = 0
    private let devices: String?

    /// `devices`: what the tokens begin with that are kept; nil: all are.
    package init(devices: String? = nil) {
        self.devices = devices
    }

    /// Adds one push.
    ///
    /// `time` is its arrival in unix microseconds.
    func add(
        gateway: String,
        environment: String?,
        device: String,
        request: ReceivedRequest,
        time: Int64,
        answer: StandInAnswer
    ) {
        if let devices, !device.hasPrefix(devices) { return }
        var json = JSONWriter(capacity: 512 + request.body.count)
        json.beginObject()
        json.key("gateway")
        json.string(gateway)
        if let environment {
            json.key("environment")
            json.string(environment)
        }
        json.key("device")
        json.string(device)
        json.key("time_us")
        json.integer(time)
        json.key("authority")
        json.string(request.authority)
        json.key("path")
        json.string(request.path)
        json.key("headers")
        json.beginObject()
        for header in request.headers {
            json.key(header.name)
            json.string(header.value)
        }
        json.endObject()
        json.key("body")
        json.string(request.body)
        json.key("status")
        json.integer(answer.status)
        if let reason = answer.reason {
            json.key("reason")
            json.string(reason)
        }
        json.endObject()
        append(json.bytes)
    }

    /// The lines that are kept, each with a line feed.
    ///
    /// `start` leaves out as many of all that ever came since the last reset, forgotten ones included.
    package func text(from start: Int = 0) -> [UInt8] {
        let first = firstKept + min(max(start - forgotten, 0), count)
        var text: [UInt8] = []
        if start <= forgotten { text.reserveCapacity(bytes + lines.count) }
        for line in lines[first...] {
            text.append(contentsOf: line)
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    package var count: Int { lines.count - firstKept }

    package func reset() {
        lines = []
        firstKept = 0
        bytes = 0
        forgotten = 0
    }

    private func append(_ line: [UInt8]) {
        lines.append(line)
        bytes += line.count
        while bytes > Self.maximumBytes, firstKept < lines.count {
            bytes -= lines[firstKept].count
            lines[firstKept] = []
            firstKept += 1
            forgotten += 1
        }
        if firstKept > 4096, firstKept * 2 > lines.count {
            lines.removeFirst(firstKept)
            firstKept = 0
        }
    }
}
