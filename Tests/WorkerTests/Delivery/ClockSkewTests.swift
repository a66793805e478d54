import Testing
import Worker

@Suite struct ClockSkewTests {
    /// `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static let then: Int64 = 784_111_777
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        "A difference of more than a minute is said",
        arguments: [
            (0, nil), (60, nil), (-60, nil), (61, .behind(-61)), (-61, .behind(61)), (7200, .behind(-7200)),
        ] as [(Int64, ClockSkew.Finding?)]
    )
    func first(ahead: Int64, finding: ClockSkew.Finding?) {
        var skew = ClockSkew()
        #expect(skew.note(date: Self.date, unixSeconds: Self.then + ahead) == finding)
    }

    @Test("What is no date says nothing", arguments: [nil, "", "yesterday", "1994-11-06T08:49:37Z"])
    func none(date: String?) {
        var skew = ClockSkew()
        #expect(skew.note(date: date, unixSeconds: Self.then) == nil)
    }

    @Test("It is said once, then when it changes, after an hour, and when it is over")
    func repeated() {
        var skew = ClockSkew()
        /// The provider's clock stands still here; the skew is what ours has besides.
        func note(_ ahead: Int64) -> ClockSkew.Finding? { skew.note(date: Self.date, unixSeconds: Self.then + ahead) }
        #expect(note(100) == .behind(-100))
        #expect(note(101) == nil)
        #expect(note(160) == nil)
        #expect(note(161) == .behind(-161))
        #expect(note(30) == .right)
        #expect(note(30) == nil)
        #expect(note(100) == .behind(-100))
        #expect(note(-100) == .behind(100))
    }

    @Test("What lasts is said again after an hour")
    func reminder() {
        var skew = ClockSkew()
        let dates = ["08", "09", "10"].map { "Sun, 06 Nov 1994 \($0):49:37 GMT" }
        #expect(skew.note(date: dates[0], unixSeconds: Self.then + 100) == .behind(-100))
        #expect(skew.note(date: dates[0], unixSeconds: Self.then + 101) == nil)
        #expect(skew.note(date: dates[1], unixSeconds: Self.then + 3600 + 100) == .behind(-100))
        #expect(skew.note(date: dates[1], unixSeconds: Self.then + 3600 + 110) == nil)
        #expect(skew.note(date: dates[2], unixSeconds: Self.then + 7200 + 100) == .behind(-100))
    }
}
