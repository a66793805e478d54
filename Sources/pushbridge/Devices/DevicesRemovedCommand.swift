import Transport
import Worker

/// `devices removed`: the devices that the worker has removed in the last 30 days, oldest first.
///
/// With `--json` one line for each: `{"token":"…","gateway":"fcm","reason":"UNREGISTERED","status":404,
/// "time":1764500000000,"channels":[{"channel":"a","registered":1764400000000}]}`.
enum DevicesRemovedCommand: Command {
    static let specification = CommandSpecification(
        name: "devices removed",
        summary: "list the devices that the worker removed in the last 30 days, and why",
        operands: "[TOKEN]",
        operandCount: 0...1,
        options: QuarantineOptions.filters + DeviceOptions.registry + [DeviceOptions.json],
        settings: .redis,
        notes: ["All conditions must hold. devices restore takes the same ones."]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let filter = try QuarantineOptions.filter(invocation.arguments)
        let isJSON = invocation.arguments.has("json")
        let count = try invocation.withQuarantine { store in
            var count = 0
            try await store.forEachPage(filter) { page in
                count += page.count
                let lines = page.flatMap {
                    isJSON ? QuarantineOptions.line($0) : Array(QuarantineOptions.text($0).utf8)
                }
                StandardStream.output.write(lines)
            }
            return count
        }
        if count == 0, !isJSON { StandardStream.output.write("no device was removed\n") }
        return .good
    }
}
