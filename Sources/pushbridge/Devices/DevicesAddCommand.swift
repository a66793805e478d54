import Encoding
import Transport
import Worker

/// `devices add`: registers a device on channels.
///
/// With `--json`: `{"token":"…","gateway":"apns","environment":"production","topic":"com.example.app",
/// "channels":[{"channel":"a","changed":true}]}`; `changed` is false where it was registered before.
enum DevicesAddCommand: Command {
    static let specification = CommandSpecification(
        name: "devices add",
        summary: "register a device on channels, or renew its registrations",
        operands: "TOKEN",
        operandCount: 1...1,
        options: [DeviceOptions.channels("where to register it")] + DeviceOptions.registry + [DeviceOptions.json],
        settings: .redis
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        guard let kind = try DeviceOptions.kind(arguments) else {
            throw UsageError("name the registry: --topic TOPIC --environment NAME, --no-topic or --fcm")
        }
        guard let channels = try DeviceOptions.channels(arguments) else { throw UsageError("--channels is missing") }
        let token = try DeviceOptions.token(arguments.operands[0], kind)
        let changes = try invocation.withRegistrations { try await $0.add(token, kind, to: channels) }
        if arguments.has("json") {
            var line = RegistrationLine()
            line.add("token", token)
            line.add(kind)
            line.addChannels(changes, \.channel) { json, change in
                json.key("changed")
                json.bool(change.isChanged)
            }
            StandardStream.output.write(line.finished())
        } else {
            StandardStream.output.write(text(changes, kind))
        }
        return .good
    }

    private static func text(_ changes: [RegistrationStore.Change], _ kind: RegistrationKind) -> String {
        let new = changes.filter(\.isChanged).map(\.channel)
        let old = changes.filter { !$0.isChanged }.map(\.channel)
        var text = ""
        if !new.isEmpty { text += "registered for \(kind.label) on \(RegistrationLine.names(new))\n" }
        if !old.isEmpty { text += "was registered already for \(kind.label) on \(RegistrationLine.names(old))\n" }
        return text
    }
}
