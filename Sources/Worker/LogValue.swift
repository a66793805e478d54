import Encoding

/// What a field of a log line may hold.
package protocol LogValue {
    var logged: LoggedValue { get }
}

/// A value as a line shows it.
package enum LoggedValue: Equatable, Sendable {
    /// Written as it is, in text and in JSON.
    case number(String)
    /// Escaped and cut already; quoted where the format wants that.
    case text(String)
}

extension Int: LogValue {
    package var logged: LoggedValue { .number(String(self)) }
}

extension Int64: LogValue {
    package var logged: LoggedValue { .number(String(self)) }
}

extension Bool: LogValue {
    package var logged: LoggedValue { .number(self ? "true" : "false") }
}

extension String: LogValue {
    package var logged: LoggedValue { .text(Printable.value(self)) }
}

extension [UInt8]: LogValue {
    package var logged: LoggedValue { .text(Printable.value(self)) }
}

extension Duration: LogValue {
    /// Milliseconds, since the names of such fields end in `_ms`.
    package var logged: LoggedValue {
        let (seconds, attoseconds) = components
        return .number(
            String(seconds.multipliedReportingOverflow(by: 1000).partialValue &+ attoseconds / 1_000_000_000_000_000)
        )
    }
}

/// A device token as lines for people show it: enough to find it again, too little to use it.
package struct ShortenedToken: LogValue, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ token: some Collection<UInt8>) {
        let text = String(decoding: token.prefix(4096), as: UTF8.self)
        description = Printable.value(text.count <= 16 ? "\(text.prefix(4))…" : "\(text.prefix(8))…\(text.suffix(4))")
    }

    package init(_ token: String) {
        self.init(token.utf8)
    }

    package var logged: LoggedValue { .text(description) }
}
