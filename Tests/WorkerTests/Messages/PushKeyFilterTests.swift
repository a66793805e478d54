import Testing
import Transport
import Worker

@Suite struct PushKeyFilterTests {
    private func inspect(_ bytes: [UInt8]) -> PushKeyFilter.Finding {
        bytes.withRawSpan { PushKeyFilter.inspect($0) }
    }

    @Test(
        "An object with a push key at its root is for us, however the key is spelled",
        arguments: [
            #"{"pn_apns":{}}"#, #"{"pn_fcm":1}"#, #"{"a":[1],"pn_gcm":null}"#,
            " {\n\"text\" : \"x\", \"pn_apns\" : { } } ",
            #"{"\u0070n_apns":{}}"#, #"{"pn\u005Fapns":{}}"#, #"{"pn\u005fgcm":{}}"#,
            #"{"\u0070\u006e\u005f\u0066\u0063\u006d":{}}"#,
            #"{"pn_apns":{},"pn_apns":{}}"#,
        ]
    )
    func findsPushKeys(text: String) {
        #expect(inspect(Array(text.utf8)) == .push)
    }

    @Test(
        "All else is ignored",
        arguments: [
            "", "{}", "1", "\"pn_apns\"", "[{\"pn_apns\":{}}]", "hello", "pn_apns", "pn_apns: {}",
            #"{"text":"pn_apns"}"#,
            #"{"a":{"pn_apns":{}}}"#, #"{"pn_apnsx":{}}"#, #"{"PN_APNS":{}}"#, #"{"pn_push":[],"pn_debug":true}"#,
            #"{"text":"\u0041 \n \\u0070"}"#, #""{\"pn_apns\":{}}""#, #"{"text":"I wrote \"pn_apns\" twice"}"#,
            #"{"text":"broken, about pn_apns "#, #"{"a":"\"pn_apns\":""#, #"{"pn_apns_x":{}"#, #"{"text":"x","#,
            "{'a':1}",
            #"{"text": pn_apns {} }"#,
        ]
    )
    func ignoresOthers(text: String) {
        #expect(inspect(Array(text.utf8)) == .none)
    }

    @Test(
        "Broken text with a push key is invalid, and shows whether traces were asked for",
        arguments: [
            (#"{"pn_apns":{"aps":{}}"#, false), (#"{"pn_apns":{"aps":{}},"pn_debug":true"#, true),
            (#"{"pn_debug" : true, "pn_fcm":{}"#, true), (#"{"pn_debug":"true","pn_fcm":{},}"#, false),
            (#"{"pn_debug":truex,"pn_fcm":{}}"#, false), (#"{"pn_debug":false,"pn_fcm":{},}"#, false),
            (#"{"pn_gcm":{},"pn_debug":true,}"#, true), (#"{"pn_apns":{}} {}"#, false), (#"{"pn_apns""#, false),
            (#"{"pn_apns":{},"pn_debug":true}}"#, true), ("{'pn_apns':{},'pn_debug':true}", true),
            ("{pn_apns: {aps: 1}, pn_debug: true}", true), (#"{"\u0070n_apns":{},"pn\u005Fdebug":true"#, true),
            (#"{"text":"no end, "pn_apns":{"pn_debug":true}}"#, true),
            ("\u{FEFF}{\"pn_apns\":{},\"pn_debug\":true}", true),
            (#"{"pn_apns":{"a":"\x"}}"#, false), ("{\"pn_apns\":{\"a\":\"\n\"},\n\"pn_debug\"\t:\ttrue}", true),
            (#"{"pn_apns":{"a":01}}"#, false),
        ]
    )
    func findsBrokenText(text: String, debug: Bool) {
        #expect(inspect(Array(text.utf8)) == .invalid(debug: debug))
    }

    @Test("A message that is not UTF-8 is invalid")
    func refusesInvalidUTF8() {
        let bytes = Array(#"{"pn_apns":{},"pn_debug":true,"text":""#.utf8) + [0xFF] + Array("\"}".utf8)
        #expect(inspect(bytes) == .invalid(debug: true))
    }

    @Test("A message cut at any place is never taken for a push, and never for a valid one")
    func refusesCutMessages() {
        let whole = Array(#"{"pn_debug":true,"pn_apns":{"aps":{"alert":"\u00e9é\n"},"x":[1.5e3,{}]}}"#.utf8)
        for length in 0..<whole.count {
            let finding = inspect(Array(whole[..<length]))
            #expect(finding == (length < 26 ? .none : .invalid(debug: true)), "cut at \(length)")
        }
        #expect(inspect(whole) == .push)
    }

    @Test("Broken messages of a megabyte are no burden")
    func readsLargeBrokenMessages() {
        let unit = Array(#"{"pn_apn":"pn_apns\" "pn_apns" p"#.utf8)
        let bytes = Array(repeating: unit, count: 1_000_000 / unit.count).flatMap { $0 }
        let clock = ContinuousClock()
        #expect(clock.measure { _ = inspect(bytes) } < .seconds(20))
    }
}
