import Testing
import Worker

@Suite struct PlanTimeTests {
    /// Seconds from 2030-01-02T03:04:05Z on.
    private static let base: Int64 = 1_893_553_445

    @Test(
        "An expiration is read in every form",
        arguments: [
            (#""2030-01-02T03:04:05.678Z""#, base), (#""2030-01-02T03:04:05Z""#, base),
            (#""2030-01-02t03:04:05z""#, base),
            (#""2030-01-02 03:04:05""#, base), (#""2030-01-02T03:04:05,9+00:00""#, base),
            (#""20300102T030405Z""#, base),
            (#""2030-01-02T04:04:05+01:00""#, base), (#""2030-01-01T21:34:05-0530""#, base),
            (#""2030-01-02T05:04:05+02""#, base),
            (#""2030-01-02T03:04Z""#, base - 5), (#""2030-01-02""#, base - 11_045),
            (#""2030-01-01T24:00:00Z""#, base - 11_045),
            (#""2030-01-02T03:04:60Z""#, base + 55), (#""2028-02-29T00:00:00Z""#, 1_835_395_200),
            (#""1970-01-01T00:00:00Z""#, 0),
            (#""2000-12-31T23:59:59.999999999Z""#, 978_307_199), ("1893553445", base), ("1893553445.9", base),
            ("1.893553445e9", base),
            ("1893553445678", base), (#""1893553445""#, base), (#""1893553445678""#, base), ("0", 0), (#""0""#, 0),
            ("100000000000", 100_000_000_000),
            ("100000000001", 100_000_000), ("7", 7), (#""9999-12-31T23:59:59Z""#, 253_402_300_799),
        ] as [(String, Int64)]
    )
    func readsExpiration(text: String, seconds: Int64) {
        let plan = plan(#"{"expiration":\#(text),"targets":[{"topic":"a"}]}"#)
        #expect(plan.targets.map(\.apns?.expiration) == [seconds] && plan.notices.isEmpty)
        #expect(
            plan.targets.first?.apnsHeaders.contains {
                $0.name == "apns-expiration" && $0.value == Array("\(seconds)".utf8)
            } == true
        )
        #expect(plan.targets.first?.deadline == (seconds == 0 ? PlanText.received + 3_600_000 : seconds * 1000))
    }

    @Test(
        "An expiration that cannot be read is a notice; the push goes out without",
        arguments: [
            #""exp_1""#, #""tomorrow""#, #""2030-13-01T00:00:00Z""#, #""2030-02-29T00:00:00Z""#,
            #""2030-01-02T25:00:00Z""#,
            #""2030-01-02T24:00:01Z""#, #""2030-01-02T03:60:05Z""#, #""2030-01-02T03:04:61Z""#,
            #""2030-01-02T03:04:05.Z""#,
            #""2030-01-02T03:04:05+25:00""#, #""2030-01-02T03:04:05Zx""#, #""2030-1-2T03:04:05Z""#, #""2030-01-02T""#,
            #""20300102T03""#,
            #""1969-12-31T23:59:59Z""#, "-1", "1e300", "1e999", "true", "[]", "{}", "100000000000001", #""12345""#,
            #"" 2030-01-02""#,
        ]
    )
    func ignoresUnreadableExpiration(text: String) {
        let plan = plan(#"{"expiration":\#(text),"targets":[{"topic":"a"}]}"#)
        #expect(plan.targets.map(\.apns?.expiration) == [nil] && plan.notices.map(\.key) == ["expiration"])
        #expect(plan.targets.map(\.failure) == [nil] && plan.targets.map(\.deadline) == [PlanText.received + 3_600_000])
    }

    @Test(
        "pn_ttl counts from receipt; the nested one wins, an unusable one is a notice",
        arguments: [
            ("", "", 3_600_000, false, 0), (#","pn_ttl":60"#, "", 60_000, false, 0),
            (#","pn_ttl":60"#, #","pn_ttl":5"#, 5000, false, 0),
            (#","pn_ttl":60"#, #","pn_ttl":-5"#, 60_000, false, 1), (#","pn_ttl":"60""#, "", 3_600_000, false, 1),
            (#","pn_ttl":null"#, #","pn_ttl":"""#, 3_600_000, false, 0), ("", #","pn_ttl":0"#, 10_000, true, 0),
            (#","pn_ttl":0"#, #","pn_ttl":1.5"#, 1500, false, 0), ("", #","pn_ttl":-0"#, 10_000, true, 0),
            ("", #","pn_ttl":1e999"#, 31_536_000_000_000, false, 0),
            ("", #","pn_ttl":0.0001"#, 1, false, 0), ("", #","pn_ttl":[1]"#, 3_600_000, false, 1),
            ("", #","pn_ttl":true"#, 3_600_000, false, 1),
            ("", #","pn_ttl":1e2"#, 100_000, false, 0),
        ]
    )
    func readsTimeToLive(root: String, nested: String, milliseconds: Int64, isSingle: Bool, notices: Int) {
        for gateway in [#""pn_apns":{"aps":{}"#, #""pn_fcm":{"data":{}"#, #""pn_gcm":{"data":{}"#] {
            let plan = PlanText.plan("{\(gateway)\(nested)}\(root)}", defaultTopic: "a")
            #expect(plan.targets.map { $0.deadline - PlanText.received } == [milliseconds], "\(gateway)")
            #expect(plan.targets.map(\.isSingleAttempt) == [isSingle] && plan.notices.count == notices)
        }
    }

    @Test("pn_ttl decides, and not the expiration, when both are there")
    func prefersTimeToLive() {
        let plan = PlanText.plan(
            #"{"pn_ttl":30,"pn_apns":{"aps":{},"pn_push":{"expiration":1893553445,"targets":[{"topic":"a"}]}}}"#
        )
        #expect(
            plan.targets.map(\.deadline) == [PlanText.received + 30_000]
                && plan.targets.map(\.apns?.expiration) == [Self.base]
        )
    }

    @Test("A receipt at the end of time does not overflow")
    func survivesLateReceipt() {
        let message = Array(#"{"pn_ttl":1e20,"pn_fcm":{"data":{}}}"#.utf8)
        let plan = Plan.make(message, received: .max, settings: PlanSettings())
        #expect(plan.targets.map(\.deadline) == [.max])
    }

    private func plan(_ configuration: String) -> Plan {
        PlanText.plan(#"{"pn_apns":{"aps":{},"pn_push":[\#(configuration)]}}"#)
    }
}
