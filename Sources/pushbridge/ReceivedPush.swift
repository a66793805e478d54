import Encoding

/// One push as the simulator reports it.
struct ReceivedPush {
    let device: String
    /// For people: what arrived where, its headers, its body.
    let lines: String

    /// Reads one line of the simulator's list; nil if it is none.
    init?(line: [UInt8]) {
        guard let push = try? JSONDocument(line).root, let device = push["device"]?.string else { return nil }
        self.device = device
        let place = [push["gateway"]?.string, push["environment"]?.string].compactMap { $0 }.joined(separator: " ")
        var lines = ["\(place): \(Printable.value(device))"]
        if let headers = push["headers"] {
            for member in headers.members {
                guard let name = member.key.string, name.hasPrefix("apns-"), let value = member.value.string else {
                    continue
                }
                lines.append("  \(name): \(Printable.value(value))")
            }
        }
        if let body = push["body"]?.string { lines.append("  \(Printable.escaped(body))") }
        self.lines = lines.joined(separator: "\n")
    }
}

/// Arguments as a person types them to a shell.
enum ShellWords {
    static func text(_ arguments: [String]) -> String {
        arguments.map(quoted).joined(separator: " ")
    }

    private static func quoted(_ argument: String) -> String {
        let isPlain =
            !argument.isEmpty
            && argument.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_./:=,".contains($0)) }
        return isPlain
            ? argument
            : "'" + argument.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
