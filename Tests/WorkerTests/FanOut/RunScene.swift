import Testing

@testable import Worker

/// A message with a number of targets, for tests of what becomes of its pushes.
struct RunScene {
    let owner = RunWitness()
    let context: MessageContext
    let run: MessageRun

    init(
        _ kind: EntryStream.Kind = .messages,
        stored records: [UInt64] = [],
        targets: Int = 1,
        entryID: String = "1-0",
        bytes: Int = 0
    ) {
        let topics = (0..<targets).map { #"{"topic":"com.example.app\#($0)"}"# }.joined(separator: ",")
        let padding = String(repeating: "x", count: bytes)
        let text = #"{"pn_apns":{"aps":{},"p":"\#(padding)","pn_push":{"targets":[\#(topics)]}}}"#
        let message = QueuedMessage(
            entryID: Array(entryID.utf8),
            id: entryID,
            channel: Array("ch".utf8),
            message: Array(text.utf8),
            received: 1
        )
        let plan = Plan.make(message.message, received: message.received, settings: PlanSettings())
        context = MessageContext(message, plan: plan, trace: nil)
        var bytes: [UInt8] = []
        for record in records { bytes.append(littleEndian: record) }
        run = MessageRun(
            context,
            kind: kind,
            entryID: message.entryID,
            stored: StoredOutcomes(records: bytes),
            targetCount: targets,
            owner: owner
        )
    }

    func target(_ number: Int = 0, ending: TargetEnding? = nil, hasParts: Bool = false) -> TargetRun {
        TargetRun(
            message: run,
            number: number,
            target: context.plan.targets[number],
            ending: ending,
            hasParts: hasParts
        )
    }

    /// So many tokens.
    static func tokens(_ numbers: Range<Int>) -> [[UInt8]] {
        numbers.map { Array("aa".utf8) + Array(String($0 + 0x100000, radix: 16).utf8) }
    }

    static func part(_ numbers: Range<Int>, isRetry: Bool = false) -> BatchTokens {
        var part = BatchTokens(tracesEachDevice: false, isRetry: isRetry)
        for token in tokens(numbers) { part.append(BatchTokens.Device(member: token)) }
        return part
    }
}

/// Counts what a run tells.
final class RunWitness: MessageRunOwner {
    private(set) var finishedCount = 0
    private(set) var outcomeCount = 0
    private(set) var beginCount = 0

    func hasBegun(_ run: MessageRun) { beginCount += 1 }

    func finished(_ run: MessageRun) { finishedCount += 1 }

    func hasOutcomes(_ run: MessageRun) { outcomeCount += 1 }
}
