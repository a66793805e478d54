import Encoding
import Transport
import Worker

/// `devices remove`: takes a device off channels, or off all of them.
///
/// With `--json` one line for each registry: `{"token":"…","gateway":"fcm",
/// "channels":[{"channel":"a","changed":true}]}`; `changed` is false where it was not registered.
enum DevicesRemoveCommand: Command {
    static let specification = CommandSpecification(
        name: "devices remove",
        summary: "remove a device from channels, or from all of them",
        operands: "TOKEN",
        operandCount: 1...1,
        options: [DeviceOptions.channels("where to remove it; everywhere without this")] + DeviceOptions.registry
            + [DeviceOptions.json],
        settings: .redis,
        notes: [
            "Without a registry it is removed from all of them. What another program put into a channel's set without "
                + "the device's own key is found only on channels that are named."
        ]
    )

    private struct Removal: Sendable {
        let kind: RegistrationKind
        let changes: [RegistrationStore.Change]
    }

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        let kind = try DeviceOptions.kind(arguments)
        let channels = try DeviceOptions.channels(arguments)
        let token = try DeviceOptions.token(arguments.operands[0], kind)
        let removals = try invocation.withRegistrations { store in
            try await remove(token, kind, channels, store)
        }
        if arguments.has("json") {
            for removal in removals { StandardStream.output.write(line(removal, token)) }
        } else {
            StandardStream.output.write(text(removals))
        }
        return .good
    }

    private static func remove(
        _ token: [UInt8],
        _ kind: RegistrationKind?,
        _ channels: [[UInt8]]?,
        _ store: RegistrationStore
    ) async throws -> [Removal] {
        var kinds = kind.map { [$0] } ?? []
        if kind == nil {
            kinds = try await store.kinds(of: token)
            for channel in channels ?? [] {
                for found in try await store.kinds(on: channel) where !kinds.contains(found) {
                    if found.isUsableMember(token) { kinds.append(found) }
                }
            }
        }
        var removals: [Removal] = []
        for kind in kinds.sorted() {
            var places = channels ?? []
            if channels == nil { places = try await store.channels(of: token, kind).map(\.channel) }
            guard !places.isEmpty else { continue }
            removals.append(Removal(kind: kind, changes: try await store.remove(token, kind, from: places)))
        }
        return removals
    }

    private static func line(_ removal: Removal, _ token: [UInt8]) -> [UInt8] {
        var line = RegistrationLine()
        line.add("token", removal.kind.tokenToSend(token))
        line.add(removal.kind)
        line.addChannels(removal.changes, \.channel) { json, change in
            json.key("changed")
            json.bool(change.isChanged)
        }
        return line.finished()
    }

    private static func text(_ removals: [Removal]) -> String {
        let lines = removals.compactMap { removal -> String? in
            let removed = removal.changes.filter(\.isChanged).map(\.channel)
            guard !removed.isEmpty else { return nil }
            return "removed for \(removal.kind.label) from \(RegistrationLine.names(removed))\n"
        }
        return lines.isEmpty ? "was not registered there; nothing to remove\n" : lines.joined()
    }
}
