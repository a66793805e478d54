import Testing
import Worker

@Suite struct PlanFCMTests {
    /// The request for the device `t`, of a message with this value under a key.
    private func request(_ value: String, key: String = "pn_fcm") -> String? {
        PlanText.plan(#"{"\#(key)":\#(value)}"#).targets.first.map {
            String(decoding: $0.fcmBody(token: Array("t".utf8)), as: UTF8.self)
        }
    }

    private func notices(_ value: String, key: String = "pn_fcm") -> [String] {
        PlanText.plan(#"{"\#(key)":\#(value)}"#).notices.map(\.key)
    }

    @Test(
        "A v1 message goes out as published, with the device's token",
        arguments: [
            #""notification":{"title":"T","body":"B","image":"i"}"#, #""data":{"a":"1","b":"\u00e9 \/"}"#,
            #""android":{"ttl":"30.0s","priority":"HIGH","notification":{"sound":"default","notification_count":3}}"#,
            #""apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"alert":null,"badge":1.0},"x":null}}"#,
            #""webpush":{"notification":{"a":null},"fcm_options":{"link":"l"}}"#,
            #""fcm_options":{"analytics_label":"l"}"#,
            #""fcmOptions":{"analyticsLabel":"l"},"android":{"collapseKey":"c"}"#,
            #""notification":{"title":"\ud83d\ude00"},"android":{"direct_boot_ok":false,"x":[1 ,2]}"#,
        ]
    )
    func sendsAsPublished(members: String) {
        #expect(request("{\(members)}") == #"{"message":{\#(members),"token":"t"}}"#)
        #expect(notices("{\(members)}").isEmpty)
    }

    @Test(
        "What v1 would refuse is changed, with a notice for each change",
        arguments: [
            (
                #"{"data":{"a":1,"b":true,"c":{"d": [null,"x"]},"e":null,"f":-1.50e3}}"#,
                #""data":{"a":"1","b":"true","c":"{\"d\": [null,\"x\"]}","f":"-1.50e3"}"#, 5
            ),
            (#"{"data":"text"}"#, #""data":{"data":"text"}"#, 1),
            (#"{"data":[1, "a"]}"#, #""data":{"data":"[1, \"a\"]"}"#, 1),
            (#"{"data":7}"#, #""data":{"data":"7"}"#, 1),
            (
                #"{"data":{"from":"a","message_type":"b","google.x":"c","gcm":"d","gcma":"e","x":"f"}}"#,
                #""data":{"x":"f"}"#, 5
            ),
            (#"{"data":{"a":"1","a":"2"}}"#, #""data":{"a":"2"}"#, 0),
            (#"{"data":{"\u0061":"x"}}"#, #""data":{"a":"x"}"#, 0),
            (
                #"{"android":{"data":{"n":1}},"webpush":{"data":5}}"#,
                #""android":{"data":{"n":"1"}},"webpush":{"data":{"data":"5"}}"#, 2
            ),
            (#"{"notification":null,"data":{"a":"b"}}"#, #""data":{"a":"b"}"#, 1),
            (#"{"notification":{"title":"T","body":null}}"#, #""notification":{"title":"T"}"#, 1),
            (#"{"notification":{"title":5}}"#, #""notification":{"title":"5"}"#, 1),
            (
                #"{"android":{"a":null,"notification":{"b":null,"c":[{"d":null,"e":1}, 2],"f":{}}}}"#,
                #""android":{"notification":{"c":[{"e":1},2],"f":{}}}"#, 2
            ),
            (
                #"{"apns":{"headers":null,"fcm_options":{"image":null},"payload":{"aps":null}}}"#,
                #""apns":{"fcm_options":{},"payload":{"aps":null}}"#, 2
            ),
            (#"{"webpush":{"headers":{"a":null},"notification":null}}"#, #""webpush":{"headers":{}}"#, 2),
            (
                #"{"token":"x","topic":"y","condition":"z","fid":"f","to":"a","registration_ids":["b"],"data":{}}"#,
                #""data":{}"#, 6
            ),
            (#"{"notification":"text","android":[1],"apns":5,"data":{}}"#, #""data":{}"#, 3),
            (#"{"sound":"s","alert":"hello","name":"n","data":{}}"#, #""data":{}"#, 3),
            (#"{"pn_exceptions":[],"pn_debug":false,"pn_ttl":5,"pn_other":1,"data":{}}"#, #""data":{}"#, 1),
        ]
    )
    func mends(value: String, message: String, changes: Int) {
        #expect(request(value) == #"{"message":{\#(message),"token":"t"}}"#)
        #expect(notices(value).count == changes)
    }

    @Test(
        "Legacy fields move to their place, under either key",
        arguments: [
            (
                #"{"notification":{"title":"T","sound":"s","icon":"i","tag":"g","color":"c","click_action":"a"}}"#,
                #""notification":{"title":"T"},"android":{"notification":{"sound":"s","icon":"i","tag":"g","color":"c","click_action":"a"}}"#
            ),
            (
                #"{"notification":{"android_channel_id":"ch","body_loc_key":"k","title_loc_key":"l"}}"#,
                #""android":{"notification":{"channel_id":"ch","body_loc_key":"k","title_loc_key":"l"}}"#
            ),
            (
                #"{"notification":{"body_loc_args":["a",1],"title_loc_args":"[\"b\",\"c\"]"}}"#,
                #""android":{"notification":{"body_loc_args":["a","1"],"title_loc_args":["b","c"]}}"#
            ),
            (
                #"{"notification":{"body_loc_args":"plain"}}"#,
                #""android":{"notification":{"body_loc_args":["plain"]}}"#
            ),
            (
                #"{"notification":{"badge":3,"subtitle":"S"}}"#,
                #""apns":{"payload":{"aps":{"badge":3,"alert":{"subtitle":"S"}}}}"#
            ),
            (#"{"notification":{"badge":"3"}}"#, #""apns":{"payload":{"aps":{"badge":3}}}"#),
            (#"{"notification":{"sticky":true,"tag":5}}"#, #""android":{"notification":{"sticky":true,"tag":"5"}}"#),
            (#"{"priority":"high","data":{}}"#, #""data":{},"android":{"priority":"HIGH"}"#),
            (#"{"priority":5,"data":{}}"#, #""data":{},"android":{"priority":"NORMAL"}"#),
            (
                #"{"priority":"High","time_to_live":60,"collapse_key":"c","data":{}}"#,
                #""data":{},"android":{"priority":"HIGH","ttl":"60s","collapse_key":"c"}"#
            ),
            (#"{"time_to_live":1e9,"data":{}}"#, #""data":{},"android":{"ttl":"2419200s"}"#),
            (#"{"time_to_live":-5,"data":{}}"#, #""data":{},"android":{"ttl":"0s"}"#),
            (#"{"time_to_live":"30","data":{}}"#, #""data":{},"android":{"ttl":"30s"}"#),
            (#"{"restricted_package_name":"p","data":{}}"#, #""data":{},"android":{"restricted_package_name":"p"}"#),
            (
                #"{"content_available":true,"mutable_content":1,"data":{}}"#,
                #""data":{},"apns":{"payload":{"aps":{"content-available":1,"mutable-content":1}}}"#
            ),
            (#"{"content_available":false,"delay_while_idle":true,"notification_key":"k","data":{}}"#, #""data":{}"#),
            (
                #"{"content_available":true,"priority":"normal","time_to_live":60,"collapse_key":"c"}"#,
                #""apns":{"payload":{"aps":{"content-available":1}},"headers":{"apns-priority":"5","apns-expiration":"1764500060","apns-collapse-id":"c"}},"android":{"priority":"NORMAL","ttl":"60s","collapse_key":"c"}"#
            ),
            (
                #"{"android":{"priority":"NORMAL","notification":{"clickAction":"v1"}},"priority":"high","notification":{"click_action":"old"}}"#,
                #""android":{"priority":"NORMAL","notification":{"clickAction":"v1"}}"#
            ),
            (
                #"{"apns":{"payload":{"aps":{"badge":1,"x":null}}},"notification":{"badge":2,"title":"T"}}"#,
                #""apns":{"payload":{"aps":{"badge":1,"x":null}}},"notification":{"title":"T"}"#
            ),
            (
                #"{"apns":{"payload":{"aps":{"x":null}}},"notification":{"badge":2}}"#,
                #""apns":{"payload":{"aps":{"x":null,"badge":2}}}"#
            ),
        ]
    )
    func movesLegacyFields(value: String, message: String) {
        for key in ["pn_fcm", "pn_gcm"] {
            // Members come in the order in which their places are known; compare without it.
            #expect(request(value, key: key).map(sorted) == sorted(#"{"message":{\#(message),"token":"t"}}"#), "\(key)")
            #expect(!notices(value, key: key).isEmpty)
        }
    }

    private func sorted(_ text: String) -> [Character] { text.sorted() }

    @Test("Unknown keys of pn_gcm go to data as texts, those of pn_fcm are dropped")
    func placesUnknownKeys() {
        let value =
            #"{"alert":"hello","summary":{"a":1},"from":"x","n":null,"data":{"alert":"own","b":2},"pn_x":1,"count":7}"#
        #expect(
            request(value, key: "pn_gcm")
                == #"{"message":{"data":{"alert":"own","b":"2","summary":"{\"a\":1}","count":"7"},"token":"t"}}"#
        )
        #expect(request(value) == #"{"message":{"data":{"alert":"own","b":"2"},"token":"t"}}"#)
        #expect(request(#"{"alert":"hello"}"#, key: "pn_gcm") == #"{"message":{"data":{"alert":"hello"},"token":"t"}}"#)
        #expect(
            request(#"{"data":"s","x":1}"#, key: "pn_gcm") == #"{"message":{"data":{"data":"s","x":"1"},"token":"t"}}"#
        )
    }

    @Test("dry_run asks FCM to check only")
    func validatesOnly() {
        #expect(request(#"{"dry_run":true,"data":{}}"#) == #"{"validate_only":true,"message":{"data":{},"token":"t"}}"#)
        #expect(request(#"{"dry_run":false,"data":{}}"#, key: "pn_gcm") == #"{"message":{"data":{},"token":"t"}}"#)
    }

    @Test("Of both keys pn_fcm is sent, and the exceptions of both count")
    func prefersFCM() {
        let plan = PlanText.plan(
            #"{"pn_gcm":{"data":{"old":"1"},"pn_exceptions":["Gcm","both"],"pn_ttl":1,"pn_debug":true},"pn_fcm":{"data":{"new":"1"},"pn_exceptions":["fcm","both"]}}"#
        )
        #expect(
            plan.targets.map { String(decoding: $0.body, as: UTF8.self) } == [
                #"{"message":{"data":{"new":"1"},"token":"#
            ]
        )
        #expect(plan.targets.first?.exclusions == Set(["Gcm", "both", "fcm"].map { Array($0.utf8) }))
        #expect(
            plan.isDebugAsked && plan.gateways == [.fcm]
                && plan.targets.first?.deadline == PlanText.received + 3_600_000
        )
        #expect(plan.notices.map(\.key) == ["pn_gcm"])
        let fallback = PlanText.plan(#"{"pn_fcm":null,"pn_gcm":{"x":1}}"#)
        #expect(
            fallback.targets.map { String(decoding: $0.body, as: UTF8.self) } == [
                #"{"message":{"data":{"x":"1"},"token":"#
            ]
        )
    }

    @Test(
        "Nothing to send is a notice, no target",
        arguments: [
            #"{}"#, #"{"pn_exceptions":["a"]}"#, #"{"token":"x"}"#, #"{"notification":null}"#, #"{"alert":"x"}"#,
        ]
    )
    func sendsNothing(value: String) {
        let plan = PlanText.plan(#"{"pn_fcm":\#(value)}"#)
        #expect(plan.targets.isEmpty && plan.failures.isEmpty && plan.gateways == [.fcm])
        #expect(plan.notices.last?.key == "pn_fcm")
    }

    @Test("A token is written as a JSON text, whatever it holds")
    func escapesToken() throws {
        let target = try #require(PlanText.plan(#"{"pn_fcm":{"data":{}}}"#).targets.first)
        let body = String(decoding: target.fcmBody(token: Array(#"a"\é"#.utf8)), as: UTF8.self)
        #expect(body == #"{"message":{"data":{},"token":"a\"\\é"}}"#)
    }

    @Test("Data that FCM refuses for certain is refused before")
    func checksSize() {
        func failure(_ count: Int, _ more: String = "") -> String? {
            let data = String(repeating: "x", count: count - 1)
            return PlanText.plan(#"{"pn_fcm":{"data":{"k":"\#(data)"}\#(more)}}"#).targets.first?.failure?.reason
        }
        #expect(failure(4096) == nil && failure(4097) == "INVALID_ARGUMENT")
        #expect(failure(4097, #","android":{"data":{"a":"b"}}"#) == nil)
    }

    @Test("Thousands of unknown keys, notices and nested nulls are no burden")
    func staysQuick() {
        let keys = (0..<20_000).map { #""k\#($0)":{"a":null}"# }.joined(separator: ",")
        let clock = ContinuousClock()
        let duration = clock.measure {
            let plan = PlanText.plan(#"{"pn_gcm":{\#(keys)}}"#)
            #expect(plan.targets.count == 1 && plan.notices.count == 101)
            _ = PlanText.plan(#"{"pn_fcm":{"android":{\#(keys)},"apns":{"payload":{\#(keys)}}}}"#)
            let depth = 100_000
            let nested = String(repeating: "{\"a\":[", count: depth) + "null" + String(repeating: "]}", count: depth)
            #expect(PlanText.plan(#"{"pn_fcm":{"android":\#(nested)},"pn_apns":\#(nested)}"#).targets.count == 2)
        }
        #expect(duration < .seconds(30))
    }
}
