package import Redis

/// What Redis knows of a message with parts (see ``PartScripts``).
///
/// A value type without I/O.
package struct RunState: Equatable, Sendable {
    /// Where the walk over a target's set is.
    package enum Walk: Equatable, Sendable {
        /// No page of it has become a part.
        case none
        /// Good only on the server with that run id.
        case at(cursor: String, server: String)
        case done
    }

    package struct TargetState: Equatable, Sendable {
        package var walk = Walk.none
        package var unfinished = UnfinishedParts()
        package var tally = Tally()
    }

    /// By their numbers in the plan; only those with parts.
    package private(set) var targets: [Int: TargetState] = [:]

    package init() {}

    /// From the answer to HGETALL.
    package init(_ value: RESPValue) {
        let words = value.elements ?? []
        var counts: [Int: [String: Int]] = [:]
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            guard let name = words[index].text, let (number, field) = Self.split(name) else { continue }
            if field == "walk" {
                targets[number, default: TargetState()].walk = Self.walk(words[index + 1].text ?? "")
            } else {
                counts[number, default: [:]][field] = words[index + 1].integer.map { Int(clamping: $0) } ?? 0
            }
        }
        for (number, count) in counts {
            targets[number, default: TargetState()].unfinished = UnfinishedParts(
                parts: count["parts"] ?? 0,
                retries: count["retries"] ?? 0,
                waiting: count["waiting"] ?? 0
            )
            targets[number]?.tally = Tally(
                expected: count["expected"] ?? 0,
                excluded: count["excluded"] ?? 0,
                errored: count["unusable"] ?? 0
            )
        }
    }

    /// `t<number>:<field>`.
    private static func split(_ name: String) -> (Int, String)? {
        let parts = name.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0].first == "t", let number = Int(parts[0].dropFirst()) else { return nil }
        return (number, String(parts[1]))
    }

    private static func walk(_ text: String) -> Walk {
        let words = text.split(separator: " ")
        if words.count == 2 { return .at(cursor: String(words[0]), server: String(words[1])) }
        return text == "done" ? .done : .none
    }
}

/// What of a target has no end yet, over all workers.
package struct UnfinishedParts: Equatable, Sendable {
    /// In the order of the initialiser.
    static let fields = ["parts", "retries", "waiting"]

    /// Parts, with the message's own entry, and with retries.
    package let parts: Int
    /// Those of them that are retries, most of which wait for their time.
    package let retries: Int
    /// Devices in these.
    package let waiting: Int

    package init(parts: Int = 0, retries: Int = 0, waiting: Int = 0) {
        self.parts = parts
        self.retries = retries
        self.waiting = waiting
    }

    /// From an array of the three, each of which may be missing; nil when it is none.
    init?(_ value: RESPValue) {
        guard let counts = value.elements?.map({ Int(clamping: $0.integer ?? 0) }), counts.count == Self.fields.count
        else { return nil }
        self.init(parts: counts[0], retries: counts[1], waiting: counts[2])
    }

    /// How much a walk has put before itself, in parts of the usual size.
    ///
    /// A retry may wait for a quarter of an hour, and have one device: so it counts by its devices.
    package var burden: Int { parts - retries + waiting / FanOut.pageSize }
}

extension RunState.Walk {
    /// As the script notes it.
    var text: String {
        switch self {
        case .none: ""
        case .at(let cursor, let server): "\(cursor) \(server)"
        case .done: "done"
        }
    }
}
