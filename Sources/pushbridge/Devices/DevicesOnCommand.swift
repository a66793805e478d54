import Encoding
import Transport
import Worker

/// `devices on`: the tokens on a channel, by registry.
///
/// With `--json` one line for each token: `{"token":"…","gateway":"fcm"}`; with `--count` one for each registry:
/// `{"gateway":"apns","environment":"production","topic":"com.example.app","count":3}`.
enum DevicesOnCommand: Command {
    static let specification = CommandSpecification(
        name: "devices on",
        summary: "list the tokens on a channel, by registry",
        operands: "CHANNEL",
        operandCount: 1...1,
        options: DeviceOptions.registry + [
            Option("count", nil, "only how many there are"), DeviceOptions.json,
        ],
        settings: .redis,
        notes: [
            "Without a registry, those of the channel are searched among all keys, which takes a second for each few "
                + "million of them. Tokens are shown as they stand in the set, and in no order."
        ]
    )

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        let kind = try DeviceOptions.kind(arguments)
        let channel = try DeviceOptions.channel(arguments.operands[0])
        let isJSON = arguments.has("json")
        let countsOnly = arguments.has("count")
        try invocation.withRegistrations { store in
            var kinds = kind.map { [$0] } ?? []
            if kind == nil { kinds = try await store.kinds(on: channel) }
            var isEmpty = true
            for kind in kinds {
                let count = try await store.count(on: channel, kind)
                guard count > 0 else { continue }
                isEmpty = false
                if countsOnly || !isJSON { StandardStream.output.write(head(kind, count, isJSON)) }
                guard !countsOnly else { continue }
                try await store.forEachPage(on: channel, kind) { page in
                    StandardStream.output.write(page.flatMap { isJSON ? line($0, kind) : text($0) })
                }
            }
            if isEmpty, !isJSON { StandardStream.output.write("no device is registered on it\n") }
        }
        return .good
    }

    private static func head(_ kind: RegistrationKind, _ count: Int64, _ isJSON: Bool) -> [UInt8] {
        guard isJSON else { return Array("\(kind.label): \(count) \(count == 1 ? "device" : "devices")\n".utf8) }
        var line = RegistrationLine()
        line.add(kind)
        line.add("count", count)
        return line.finished()
    }

    private static func line(_ token: [UInt8], _ kind: RegistrationKind) -> [UInt8] {
        var line = RegistrationLine()
        line.add("token", token)
        line.add(kind)
        return line.finished()
    }

    private static func text(_ token: [UInt8]) -> [UInt8] {
        // A whole token may be longer than one value elsewhere: it is to be copied.
        Array("  \(Printable.escaped(String(decoding: token, as: UTF8.self)))\n".utf8)
    }
}
