import Encoding

/// The moment that a publisher gave as `expiration`, in unix seconds, as `apns-expiration` wants it.
///
/// Texts by ISO 8601 and RFC 3339, and epoch seconds or milliseconds, as numbers or as their text.
package enum Expiration {
    /// Numbers above are milliseconds: as seconds they would be the year 5138.
    private static let largestSeconds: Int64 = 100_000_000_000

    /// The unix seconds that a value names; nil when it is none that can be read, or before 1970.
    static func seconds(_ value: JSONValue) -> Int64? {
        if let number = value.double { return epoch(number) }
        return value.stringBytes.flatMap { seconds(text: $0) }
    }

    /// The unix seconds that a text names; nil when it is none that can be read, or before 1970.
    package static func seconds(text: [UInt8]) -> Int64? {
        if text.count >= 9, text.allSatisfy(isDigit) {
            return Double(String(decoding: text, as: UTF8.self)).flatMap(epoch)
        }
        if text == [UInt8(ascii: "0")] { return 0 }
        var reader = ISO8601Reader(text)
        return reader.seconds()
    }

    private static func epoch(_ number: Double) -> Int64? {
        guard number >= 0, number <= Double(largestSeconds) * 1000 else { return nil }
        let whole = Int64(number)
        return whole > largestSeconds ? whole / 1000 : whole
    }

    fileprivate static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// Reads a date and time by ISO 8601, in its extended or basic form; without an offset it is UTC.
private struct ISO8601Reader {
    private var rest: ArraySlice<UInt8>

    init(_ text: [UInt8]) {
        rest = text[...]
    }

    mutating func seconds() -> Int64? {
        guard let year = number(4) else { return nil }
        let isExtended = take("-")
        guard let month = number(2), isExtended == take("-"), let day = number(2),
            (1...12).contains(month), (1...Self.days(in: month, of: year)).contains(day)
        else { return nil }
        var seconds = Self.days(year, month, day) * 86400
        guard !rest.isEmpty else { return seconds >= 0 ? seconds : nil }
        guard take("T") || take("t") || take(" "), let time = timeOfDay(), let offset = offset() else { return nil }
        seconds += time - offset
        return rest.isEmpty && seconds >= 0 ? seconds : nil
    }

    /// `hh:mm`, `hh:mm:ss`, `hh:mm:ss.fraction`; a fraction is cut off.
    private mutating func timeOfDay() -> Int64? {
        guard let hour = number(2) else { return nil }
        let isExtended = take(":")
        guard let minute = number(2) else { return nil }
        var second: Int64 = 0
        if isExtended ? take(":") : rest.first.map(Expiration.isDigit) == true {
            guard let read = number(2) else { return nil }
            second = read
            if take(".") || take(",") {
                let digits = rest.prefix { Expiration.isDigit($0) }
                guard !digits.isEmpty else { return nil }
                rest = rest[digits.endIndex...]
            }
        }
        // 24:00 is the end of a day; 60 is a leap second.
        guard hour < 24 || (hour == 24 && minute == 0 && second == 0), minute < 60, second <= 60 else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Seconds east of UTC.
    private mutating func offset() -> Int64? {
        if rest.isEmpty || take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = number(2) else { return nil }
        var minutes: Int64 = 0
        if take(":") || !rest.isEmpty {
            guard let read = number(2) else { return nil }
            minutes = read
        }
        guard hours < 24, minutes < 60 else { return nil }
        return (hours * 3600 + minutes * 60) * (isWest ? -1 : 1)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func number(_ count: Int) -> Int64? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(Expiration.isDigit) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days from 1970-01-01 to a valid date, by the Gregorian calendar; years begin in March, so the leap day is last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
