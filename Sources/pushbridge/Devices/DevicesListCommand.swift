import Encoding
import Transport
import Worker

/// `devices list`: a device's channels, by registry.
///
/// With `--json` one line for each registry: `{"token":"…","gateway":"apns","environment":"production",
/// "topic":"com.example.app","channels":[{"channel":"a","registered":1764500000000}]}`; the time is in unix milliseconds.
enum DevicesListCommand: Command {
    static let specification = CommandSpecification(
        name: "devices list",
        summary: "list a device's channels, in one registry or in all",
        operands: "TOKEN",
        operandCount: 1...1,
        options: DeviceOptions.registry + [DeviceOptions.json],
        settings: .redis,
        notes: [
            "Without a registry, a token that may be one of APNs is searched among all keys, which takes a second for "
                + "each few million of them."
        ]
    )

    private struct Entry: Sendable {
        let kind: RegistrationKind
        let channels: [RegistrationStore.Listed]
    }

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        let kind = try DeviceOptions.kind(arguments)
        let token = try DeviceOptions.token(arguments.operands[0], kind)
        let entries = try invocation.withRegistrations { store in
            var kinds = kind.map { [$0] } ?? []
            if kind == nil { kinds = try await store.kinds(of: token) }
            var entries: [Entry] = []
            for kind in kinds {
                let channels = try await store.channels(of: token, kind)
                if !channels.isEmpty { entries.append(Entry(kind: kind, channels: channels)) }
            }
            return entries
        }
        if arguments.has("json") {
            for entry in entries { StandardStream.output.write(line(entry, token)) }
        } else {
            StandardStream.output.write(entries.isEmpty ? "is not registered\n" : entries.map(text).joined())
        }
        return .good
    }

    private static func line(_ entry: Entry, _ token: [UInt8]) -> [UInt8] {
        var line = RegistrationLine()
        line.add("token", entry.kind.tokenToSend(token))
        line.add(entry.kind)
        line.addChannels(entry.channels, \.channel) { json, listed in
            json.key("registered")
            json.integer(listed.registered)
        }
        return line.finished()
    }

    private static func text(_ entry: Entry) -> String {
        let lines = entry.channels.map { listed in
            "  \(Timestamp.text(unixMilliseconds: listed.registered))  \(Printable.value(listed.channel))\n"
        }
        return "\(entry.kind.label)\n" + lines.joined()
    }
}
