import Transport

/// Lines about the program's work, on standard error: a fixed message and fields.
///
/// Any thread. A line is written with one call, and nothing is made ready for a level that is not logged. What comes
/// from outside is escaped and cut; device tokens are given as ``ShortenedToken``, secrets not at all.
package struct Log: Sendable {
    package enum Level: String, CaseIterable, Comparable, Sendable {
        case debug
        case info
        case warning
        case error

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
    }

    package enum Format: String, CaseIterable, Sendable {
        /// `2026-11-30T06:16:01.123Z info subscribed patterns=2`
        case text
        /// `{"time":"2026-11-30T06:16:01.123Z","level":"info","message":"subscribed","patterns":2}`
        case json
    }

    /// Names of fields and their values, in the order of the line.
    package typealias Fields = KeyValuePairs<StaticString, any LogValue>

    package let level: Level
    package let format: Format
    private let now: @Sendable () -> Int64
    private let write: @Sendable ([UInt8]) -> Void

    /// `now` is the wall clock in unix milliseconds.
    package init(
        level: Level = .info,
        format: Format = .text,
        now: @escaping @Sendable () -> Int64 = { currentUnixMilliseconds() },
        write: @escaping @Sendable ([UInt8]) -> Void = { StandardStream.error.write($0) }
    ) {
        self.level = level
        self.format = format
        self.now = now
        self.write = write
    }

    package func debug(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        if level <= .debug { line(.debug, message, fields()) }
    }

    package func info(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        if level <= .info { line(.info, message, fields()) }
    }

    package func warning(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        if level <= .warning { line(.warning, message, fields()) }
    }

    package func error(_ message: StaticString, _ fields: @autoclosure () -> Fields = [:]) {
        line(.error, message, fields())
    }

    private func line(_ level: Level, _ message: StaticString, _ fields: Fields) {
        let time = Timestamp.text(unixMilliseconds: now())
        let text =
            switch format {
            case .text: Self.text(time, level, message, fields)
            case .json: Self.json(time, level, message, fields)
            }
        write(Array(text.utf8))
    }

    private static func text(_ time: String, _ level: Level, _ message: StaticString, _ fields: Fields) -> String {
        var line = "\(time) \(level.rawValue) \(message)"
        for (name, value) in fields {
            line += " \(name)="
            switch value.logged {
            case .number(let number): line += number
            case .text(let text): line += isWord(text) ? text : quoted(text)
            }
        }
        return line + "\n"
    }

    private static func json(_ time: String, _ level: Level, _ message: StaticString, _ fields: Fields) -> String {
        var line = "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"message\":\(quoted("\(message)"))"
        for (name, value) in fields {
            line += ",\"\(name)\":"
            switch value.logged {
            case .number(let number): line += number
            case .text(let text): line += quoted(text)
            }
        }
        return line + "}\n"
    }

    /// Whether a value needs no quotation marks in a line of text.
    private static func isWord(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") }
    }

    /// In quotation marks; control characters have been escaped before.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
