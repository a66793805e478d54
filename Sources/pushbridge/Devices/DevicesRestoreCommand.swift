import Transport
import Worker

/// `devices restore`: registers devices again that the worker has removed.
///
/// With `--json` one line for each, as `devices removed` has them.
enum DevicesRestoreCommand: Command {
    static let specification = CommandSpecification(
        name: "devices restore",
        summary: "register devices again that the worker removed",
        operands: "[TOKEN]",
        operandCount: 0...1,
        options: QuarantineOptions.filters + DeviceOptions.registry + [
            Option("all", nil, "all that were removed in the last 30 days"), DeviceOptions.json,
        ],
        settings: .redis,
        notes: [
            "Names a token, a time, a reason or a registry, or --all; all conditions must hold. The devices are "
                + "registered as they were, with the times that they had; newer registrations stay as they are."
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        let filter = try QuarantineOptions.filter(arguments)
        let isLimited = filter.token != nil || filter.kind != nil || filter.since != nil || filter.reason != nil
        guard isLimited != arguments.has("all") else {
            throw UsageError(
                isLimited
                    ? "--all means every removed device: leave the conditions out"
                    : "say which: a token, --since, --reason, a registry (--topic, --fcm …), or --all"
            )
        }
        let isJSON = arguments.has("json")
        let count = try invocation.withQuarantine { store in
            var count = 0
            try await store.forEachPage(filter) { page in
                try await store.restore(page)
                count += page.count
                if isJSON { StandardStream.output.write(page.flatMap { QuarantineOptions.line($0) }) }
            }
            return count
        }
        let noun = count == 1 ? "device is" : "devices are"
        if !isJSON { StandardStream.output.write("\(count) \(noun) registered again\n") }
        return count > 0 ? .good : .failed
    }
}
