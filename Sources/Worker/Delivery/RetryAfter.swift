/// The header `retry-after`: seconds, or the date of the next attempt (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// How long to wait; nil when there is no such header, or none that can be understood.
    ///
    /// A date is compared with the answer's own `date` header, so that no clock of ours has a part in it.
    package static func delay(_ value: String?, date: String?) -> Duration? {
        guard let value else { return nil }
        if let seconds = seconds(value) { return .seconds(seconds) }
        guard let then = unixSeconds(value), let date, let now = unixSeconds(date) else { return nil }
        return .seconds(max(0, then - now))
    }

    private static func seconds(_ text: String) -> Int64? {
        guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(text)
    }

    /// A date in the one form that senders may use: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
    static func unixSeconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard text.utf8.count == 29, parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT" else { return nil }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let time = parts[4].split(separator: ":").compactMap { seconds(String($0)) }
        guard let day = seconds(String(parts[1])), let month = months.firstIndex(of: String(parts[2])),
            let year = seconds(String(parts[3])), time.count == 3,
            (1...31).contains(day), time[0] < 24, time[1] < 60, time[2] <= 60
        else { return nil }
        let days = Timestamp.days(toYear: year, month: Int64(month) + 1, day: day)
        return days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
    }
}
