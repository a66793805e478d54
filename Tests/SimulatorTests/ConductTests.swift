import Testing

@testable import Simulator

@Suite("How a simulator's connections are told to behave")
struct ConductTests {
    @Test("Every member is read")
    func members() throws {
        let conduct = try Conduct(
            Array(
                #"""
                {"gateway": "apns", "goaway_every": 5, "goaway_data": {"reason": "Shutdown"}, "errors_limit": 3,
                 "streams_after": 7, "streams": 2, "settings_delay_ms": 40, "ignore_pings": true,
                 "refuse_connections": true, "cut_every_ms": 10000, "cut": "mute"}
                """#.utf8
            )
        )
        #expect(conduct.requestsToGoAway == 5 && conduct.goAwayData == Array(#"{"reason": "Shutdown"}"#.utf8))
        #expect(conduct.errorLimit == 3 && conduct.requestsToStreamChange == 7 && conduct.changedStreams == 2)
        #expect(conduct.settingsDelay == .milliseconds(40) && conduct.ignoresPings && conduct.refusesConnections)
        #expect(conduct.cutInterval == .seconds(10) && conduct.cut == .mute)
        #expect(conduct.isFor("apns") && !conduct.isFor("fcm"))
        #expect(try Conduct(Array("{}".utf8)) == Conduct())
    }

    @Test(
        "What cannot be read is refused in a sentence",
        arguments: [
            ("[]", "must be an object"), ("{", "the conduct is"), (#"{"goaway": 1}"#, "has a member \"goaway\""),
            (#"{"goaway_every": 0}"#, "goaway_every must be a number"), (#"{"cut": "saw"}"#, "drop, reset, mute"),
        ]
    )
    func refused(text: String, expected: String) {
        #expect {
            try Conduct(Array(text.utf8))
        } throws: { error in
            "\(error)".contains(expected)
        }
    }

    @Test(
        "Dates of headers",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_796_083_199, "Mon, 30 Nov 2026 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] as [(Int64, String)]
    )
    func dates(seconds: Int64, text: String) {
        #expect(HTTPDate.text(unixSeconds: seconds) == text)
    }

    @Test("Pushes that come again are counted by whether there is a reason")
    func tally() {
        let tally = PushTally()
        for name in 1...5 as ClosedRange<UInt64> { tally.came(name) }
        tally.answered(1, status: 200)
        tally.answered(2, status: 429)
        tally.answered(3, status: 410)
        tally.lost(4)
        // Reasons: an answer that asks for it, a connection that was cut; the others have none.
        for name in [1, 2, 4, 5] as [UInt64] { tally.came(name) }
        for name in [1, 2, 4] as [UInt64] { tally.answered(name, status: 200) }
        #expect(
            String(decoding: tally.text, as: UTF8.self)
                == #"{"requests":9,"pushes":5,"accepted":3,"gone":1,"failed":0,"postponed":0,"unanswered":1,"#
                + #""repeated_after_cut":1,"repeated_without_reason":2}"#
        )
    }
}
