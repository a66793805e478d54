import Encoding
import Transport
import Worker

/// `devices replace`: moves a device's registrations to its new token.
///
/// With `--json` one line for each registry: `{"old":"…","new":"…","gateway":"fcm","channels":[{"channel":"a"}]}`.
enum DevicesReplaceCommand: Command {
    static let specification = CommandSpecification(
        name: "devices replace",
        summary: "move all registrations of a token to the token that took its place",
        operands: "OLD NEW",
        operandCount: 2...2,
        options: DeviceOptions.registry + [DeviceOptions.json],
        settings: .redis,
        notes: ["Without a registry, the registrations in all of them are moved."]
    )

    private struct Move: Sendable {
        let kind: RegistrationKind
        let new: [UInt8]
        let channels: [[UInt8]]
    }

    static func run(_ invocation: Invocation) throws -> ExitCode {
        let arguments = invocation.arguments
        let kind = try DeviceOptions.kind(arguments)
        let old = try DeviceOptions.token(arguments.operands[0], kind)
        let newText = arguments.operands[1]
        _ = try DeviceOptions.token(newText, kind)
        let moves = try invocation.withRegistrations { store in
            var kinds = kind.map { [$0] } ?? []
            if kind == nil { kinds = try await store.kinds(of: old) }
            // All are checked before the first is changed.
            let tokens = try kinds.map { try DeviceOptions.token(newText, $0) }
            var moves: [Move] = []
            for (kind, new) in zip(kinds, tokens) {
                let channels = try await store.replace(old, by: new, kind)
                if !channels.isEmpty { moves.append(Move(kind: kind, new: new, channels: channels)) }
            }
            return moves
        }
        if arguments.has("json") {
            for move in moves { StandardStream.output.write(line(move, old)) }
        } else {
            let lines = moves.map { "moved for \($0.kind.label) on \(RegistrationLine.names($0.channels))\n" }
            StandardStream.output.write(lines.isEmpty ? "is not registered; nothing to move\n" : lines.joined())
        }
        return .good
    }

    private static func line(_ move: Move, _ old: [UInt8]) -> [UInt8] {
        var line = RegistrationLine()
        line.add("old", move.kind.tokenToSend(old))
        line.add("new", move.new)
        line.add(move.kind)
        line.addChannels(move.channels, \.self)
        return line.finished()
    }
}
