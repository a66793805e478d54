import Testing
import Worker

@Suite struct PlanAPNsTests {
    /// A message with one target, whose parts are given as JSON.
    private func message(
        payload: String = #""aps":{"alert":"a"}"#,
        configuration: String = "",
        target: String = #""topic":"com.ex""#,
        root: String = ""
    ) -> String {
        let comma = configuration.isEmpty ? "" : ","
        return #"{\#(root)"pn_apns":{\#(payload),"pn_push":[{\#(configuration)\#(comma)"targets":[{\#(target)}]}]}}"#
    }

    private func header(_ name: String, _ plan: Plan) -> String? {
        plan.targets.first?.apnsHeaders.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    private func body(_ plan: Plan) -> String? {
        plan.targets.first.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test(
        "The body is what was published, byte for byte, without our keys",
        arguments: [
            (#"{}"#, "{}"), (#"{ }"#, "{}"), (#"{"pn_push":[]}"#, "{}"), (#"{"aps":{}}"#, #"{"aps":{}}"#),
            (#"{ "aps" : { "badge" : 1.0e0 } , "x":1 }"#, #"{"aps" : { "badge" : 1.0e0 },"x":1}"#),
            (#"{"pn_debug":true,"a":-0.00,"pn_ttl":5,"b":"\u00e9é\/"}"#, #"{"a":-0.00,"b":"\u00e9é\/"}"#),
            (#"{"a":1,"a":2,"pn_other":{"pn_push":1},"\u0061":3}"#, #"{"a":1,"a":2,"\u0061":3}"#),
            (#"{"pn_ttl":1,"pn_ttl":2,"\u0070n_ttl":3,"pn\u005Fttl":4,"z":1}"#, #"{"z":1}"#),
            (
                #"{"excluded_devices":[],"exclude_devices":[],"excludedDevices":[],"excludeDevices":[],"x":[1 , 2]}"#,
                #"{"x":[1 , 2]}"#
            ),
            (
                #"{"pn_exceptions":[],"pn_collapse_id":"c","collapse_id":"kept","pn_x":1,"PN_TTL":2}"#,
                #"{"collapse_id":"kept","pn_x":1,"PN_TTL":2}"#
            ),
            (#"{"x":{"pn_ttl":1,"pn_push":[]}}"#, #"{"x":{"pn_ttl":1,"pn_push":[]}}"#),
            (
                #"{"aps":"{\"alert\":\"x\"}","n":123456789012345678901234567890,"e":1E+2}"#,
                #"{"aps":"{\"alert\":\"x\"}","n":123456789012345678901234567890,"e":1E+2}"#
            ),
            (#"{"a":"\ud800"}"#, #"{"a":"\ud800"}"#),
        ]
    )
    func splicesBody(payload: String, expected: String) {
        #expect(body(PlanText.plan(#"{"pn_apns":\#(payload)}"#, defaultTopic: "com.ex")) == expected)
    }

    @Test("Of repeated keys the last counts")
    func takesLast() {
        let plan = PlanText.plan(
            #"{"pn_apns":{"first":1},"pn_apns":{"pn_push":[],"pn_push":[{"version":"v2","targets":[{"topic":"com.a","topic":"com.b"}]}]},"pn_debug":true,"pn_debug":false}"#
        )
        #expect(plan.targets.map(\.topic) == ["com.b"] && body(plan) == "{}" && !plan.isDebugAsked)
    }

    @Test(
        "Push types give topic, priority and limit; an unknown one is sent with a notice",
        arguments: [
            ("alert", "com.ex", "10"), ("background", "com.ex", "5"), ("voip", "com.ex.voip", "10"),
            ("complication", "com.ex.complication", "10"), ("fileprovider", "com.ex.pushkit.fileprovider", "10"),
            ("mdm", "com.ex", "10"), ("liveactivity", "com.ex.push-type.liveactivity", "10"),
            ("location", "com.ex.location-query", "10"), ("pushtotalk", "com.ex.voip-ptt", "10"),
            ("widgets", "com.ex.push-type.widgets", "10"), ("controls", "com.ex.push-type.controls", "10"),
            ("something-new", "com.ex", "10"),
        ]
    )
    func appliesPushType(type: String, topic: String, priority: String) {
        let plan = PlanText.plan(message(configuration: #""push_type":"\#(type)""#))
        #expect(header("apns-push-type", plan) == type && header("apns-topic", plan) == topic)
        #expect(header("apns-priority", plan) == priority)
        #expect(plan.targets.first?.topic == "com.ex" && plan.targets.first?.isSuffixAdded == (topic != "com.ex"))
        #expect(plan.notices.map(\.key) == (type == "something-new" ? ["push_type"] : []))
        let suffixed = PlanText.plan(message(configuration: #""pushType":"\#(type)""#, target: #""topic":"\#(topic)""#))
        #expect(header("apns-topic", suffixed) == topic && suffixed.targets.first?.isSuffixAdded == false)
    }

    @Test(
        "A silent payload is a background push unless the publisher says otherwise",
        arguments: [
            (#""aps":{"content-available":1}"#, "background"), (#""aps":{"content-available":1,"badge":0}"#, "alert"),
            (#""aps":{"content-available":1,"alert":{}}"#, "alert"),
            (#""aps":{"content-available":1,"sound":"default"}"#, "alert"),
            (#""aps":{"content-available":1,"alert":null,"x":2}"#, "background"),
            (#""aps":{"content-available":0}"#, "alert"),
            (#""aps":{"content-available":true}"#, "alert"), (#""aps":{"content-available":"1"}"#, "alert"),
            (#""aps":{"content-available":1.0}"#, "background"), (#""aps":"x""#, "alert"), (#""x":1"#, "alert"),
            (#""aps":{"content-available":1,"content-available":0}"#, "alert"), (#""aps":[1]"#, "alert"),
        ]
    )
    func infersBackground(payload: String, type: String) {
        let plan = PlanText.plan(message(payload: payload))
        #expect(
            header("apns-push-type", plan) == type && header("apns-priority", plan) == (type == "alert" ? "10" : "5")
        )
        let told = PlanText.plan(message(payload: payload, configuration: #""push_type":"alert""#))
        #expect(header("apns-push-type", told) == "alert" && header("apns-priority", told) == "10")
    }

    @Test(
        "A priority is taken where Apple allows it",
        arguments: [
            ("alert", "5", "5", 0), ("alert", "1", "1", 0), ("alert", "\"5\"", "5", 0), ("alert", "7", "10", 1),
            ("alert", "null", "10", 0),
            ("alert", "5.0", "10", 1), ("background", "10", "5", 1), ("background", "1", "5", 1),
            ("background", "5", "5", 0),
            ("liveactivity", "1", "10", 1), ("liveactivity", "5", "5", 0), ("voip", "{}", "10", 1),
            ("voip", "\"\"", "10", 0),
        ]
    )
    func takesPriority(type: String, priority: String, sent: String, notices: Int) {
        let plan = PlanText.plan(message(configuration: #""push_type":"\#(type)","priority":\#(priority)"#))
        #expect(header("apns-priority", plan) == sent && plan.notices.count == notices)
    }

    @Test(
        "The collapse id has three names, and a default in pn_apns",
        arguments: [
            (#""collapse_id":"a""#, "a"), (#""pn_collapse_id":"a""#, "a"), (#""collapseId":"a""#, "a"),
            (#""collapse_id":"","collapseId":"b""#, "b"), (#""collapse_id":null"#, "default"), ("", "default"),
            (#""collapse_id":"\u00e9 \ud83d\ude00""#, "é 😀"),
        ]
    )
    func takesCollapseID(configuration: String, sent: String) {
        let plan = PlanText.plan(message(payload: #""pn_collapse_id":"default""#, configuration: configuration))
        #expect(header("apns-collapse-id", plan) == sent && plan.targets.first?.failure == nil)
    }

    @Test(
        "What cannot be sent is one failure of the target, with Apple's word",
        arguments: [
            ("", #""topic":"com/ex""#, "BadTopic"), ("", #""topic":"com.ex ""#, "BadTopic"),
            ("", #""topic":"com.é""#, "BadTopic"),
            ("", #""topic":"\#(String(repeating: "a", count: 256))""#, "BadTopic"),
            ("", #""topic":"a\u000ab""#, "BadTopic"),
            (#""push_type":"Alert""#, #""topic":"com.ex""#, "InvalidPushType"),
            (#""push_type":5"#, #""topic":"com.ex""#, "InvalidPushType"),
            (#""push_type":"\#(String(repeating: "a", count: 65))""#, #""topic":"com.ex""#, "InvalidPushType"),
            (#""push_type":{"a":1}"#, #""topic":"com.ex""#, "InvalidPushType"),
            (#""collapse_id":"\#(String(repeating: "é", count: 33))""#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""collapse_id":"a\nb""#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""collapse_id":"\u007f""#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""collapse_id":" a""#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""collapse_id":"\u0085""#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""collapse_id":7"#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""collapse_id":["a"]"#, #""topic":"com.ex""#, "BadCollapseId"),
            (#""push_type":"X","collapse_id":7"#, #""topic":"?""#, "BadTopic"),
        ]
    )
    func refusesValues(configuration: String, target: String, reason: String) {
        let plan = PlanText.plan(message(configuration: configuration, target: target))
        #expect(plan.targets.map(\.failure?.reason) == [reason] && plan.failures.isEmpty)
    }

    @Test("The values at the edge can be sent")
    func takesEdgeValues() {
        let configuration =
            #""push_type":"\#(String(repeating: "a", count: 64))","collapse_id":"\#(String(repeating: "é", count: 32))""#
        let plan = PlanText.plan(
            message(configuration: configuration, target: #""topic":"\#(String(repeating: "A.b-c_9", count: 36))abc""#)
        )
        #expect(plan.targets.map(\.failure) == [nil])
    }

    @Test(
        "The body's size is checked against Apple's limit",
        arguments: [("alert", 4096), ("voip", 5120), ("background", 4096)]
    )
    func checksSize(type: String, limit: Int) {
        for (size, reason) in [(limit, nil), (limit + 1, "PayloadTooLarge")] as [(Int, String?)] {
            let filler = String(repeating: "x", count: size - #"{"a":""}"#.utf8.count)
            let plan = PlanText.plan(message(payload: #""a":"\#(filler)""#, configuration: #""push_type":"\#(type)""#))
            #expect(plan.targets.first?.body.count == size && plan.targets.first?.failure?.reason == reason)
        }
    }

    @Test(
        "Environments in any letter case; sandbox is development with a notice; others are an error of that target",
        arguments: [
            ("\"production\"", "production", 0), ("\"Production\"", "production", 0),
            ("\"DEVELOPMENT\"", "development", 0),
            ("null", "development", 0), ("\"\"", "development", 0), ("\"Sandbox\"", "development", 1),
            ("\"prod\"", nil, 0),
            ("0", nil, 0), ("[]", nil, 0), ("\" production\"", nil, 0),
        ] as [(String, String?, Int)]
    )
    func readsEnvironment(environment: String, read: String?, notices: Int) {
        let plan = PlanText.plan(
            #"{"pn_apns":{"aps":{},"pn_push":[{"targets":[{"topic":"com.a","environment":\#(environment)},{"topic":"com.b","environment":"production"}]}]}}"#
        )
        #expect(plan.targets.map(\.environment?.rawValue) == (read.map { [$0] } ?? []) + ["production"])
        #expect(plan.notices.map(\.key) == Array(repeating: "environment", count: notices))
        #expect(plan.failures.map(\.reason) == (read == nil ? ["BadEnvironment"] : []))
        #expect(plan.failures.map(\.topic) == (read == nil ? ["com.a"] : []))
    }

    @Test("Equal targets are one: the first one's headers, all exclusions")
    func mergesTargets() {
        let plan = PlanText.plan(
            """
            {"pn_apns":{"aps":{},"excluded_devices":["AA"],"pn_exceptions":["Ab"],"pn_push":[
            {"priority":5,"expiration":1900000000,"excludeDevices":["ac"],"targets":[{"topic":"com.a","excluded_devices":["AD"]},{"topic":"com.b"}]},
            {"priority":10,"targets":[{"topic":"com.a","environment":"Development","exclude_devices":["ae"],"excludedDevices":["AF"]}]},
            {"collapse_id":"x","targets":[{"topic":"com.a"}]},{"push_type":"background","targets":[{"topic":"com.a"}]},
            {"targets":[{"topic":"com.a","environment":"production"}]}]}}
            """
        )
        let exclusions = plan.targets.map { $0.exclusions.map { String(decoding: $0, as: UTF8.self) }.sorted() }
        #expect(plan.targets.map(\.topic) == ["com.a", "com.b", "com.a", "com.a", "com.a"])
        #expect(
            exclusions == [
                ["aa", "ab", "ac", "ad", "ae", "af"], ["aa", "ab", "ac"], ["aa", "ab"], ["aa", "ab"], ["aa", "ab"],
            ]
        )
        #expect(header("apns-priority", plan) == "5" && header("apns-expiration", plan) == "1900000000")
    }

    @Test(
        "Without pn_push, or with an empty one, the legacy form is used",
        arguments: ["", #","pn_push":[]"#, #","pn_push":null"#, #","pn_push":"""#, #","pn_push":[null]"#]
    )
    func usesLegacyForm(push: String) {
        let message = #"{"pn_apns":{"aps":{"alert":"a"},"pn_collapse_id":"c"\#(push)}}"#
        let plan = PlanText.plan(message, defaultTopic: "com.default", environment: .production)
        #expect(plan.targets.map(\.isLegacyForm) == [true] && plan.targets.map(\.failure) == [nil])
        #expect(
            plan.targets.first?.label == "apns production com.default" && header("apns-topic", plan) == "com.default"
        )
        #expect(header("apns-collapse-id", plan) == "c" && body(plan) == #"{"aps":{"alert":"a"}}"#)
        let lacking = PlanText.plan(message)
        #expect(
            lacking.targets.map(\.failure?.reason) == ["MissingTopic"] && lacking.targets.map(\.isLegacyForm) == [true]
        )
    }

    @Test("pn_push at the root is taken with a notice, unless there is one in pn_apns")
    func takesRootPush() {
        let root = #""pn_push":{"targets":[{"topic":"com.root"}]},"#
        let taken = PlanText.plan(#"{\#(root)"pn_apns":{"aps":{},"pn_push":[]}}"#)
        #expect(taken.targets.map(\.topic) == ["com.root"] && taken.notices.map(\.key) == ["pn_push"])
        #expect(PlanText.plan(message(root: root)).targets.map(\.topic) == ["com.ex"])
        #expect(
            PlanText.plan(#"{"pn_push":[{"targets":[{"topic":"a"}]}],"pn_fcm":{"data":{}}}"#).targets.allSatisfy {
                $0.gateway == .fcm
            }
        )
    }

    @Test("auth_method has two names and three values; another is token with a notice")
    func readsAuthMethod() {
        for (text, method, notices) in [
            (#""auth_method":"token""#, APNsAuthMethod.token, 0), (#""authMethod":"cert""#, .certificate, 0),
            (#""auth_method":"certificate""#, .certificate, 0),
            (#""auth_method":"","authMethod":"cert""#, .certificate, 0),
            (#""auth_method":"jwt""#, .token, 1), (#""auth_method":1"#, .token, 1),
        ] {
            let plan = PlanText.plan(message(configuration: text))
            #expect(plan.targets.map(\.authMethod) == [method] && plan.notices.count == notices, "\(text)")
        }
    }

    @Test("A message with a value of the wrong kind is a failure or a notice, and the rest is sent")
    func survivesWrongKinds() {
        let plan = PlanText.plan(
            """
            {"pn_apns":{"aps":{},"excluded_devices":{"a":1},"pn_exceptions":"One","pn_push":[1,"a",[],{"targets":5},
            {"targets":[7,[],{"topic":5},{"topic":"com.a","excluded_devices":[1,null,"B",""],"exclude_devices":true}]},
            {"targets":{"topic":"com.b"},"version":2,"auth_method":[],"priority":{},"expiration":{}}]}}
            """
        )
        #expect(plan.targets.map(\.topic) == ["com.a", "com.b"] && plan.targets.map(\.failure) == [nil, nil])
        #expect(plan.targets.first?.exclusions == [Array("one".utf8), Array("b".utf8)])
        #expect(plan.failures.map(\.reason) == Array(repeating: "MissingTopic", count: 6) + ["BadTopic"])
        #expect(
            Set(plan.notices.map(\.key)) == [
                "excluded_devices", "pn_exceptions", "exclude_devices", "targets", "version", "auth_method", "priority",
                "expiration",
            ]
        )
    }

    @Test(
        "A gateway's object of another kind is a failure; null and an empty text are none",
        arguments: ["1", "[]", "\"a\"", "true"]
    )
    func refusesOtherKinds(value: String) {
        for (key, gateway) in [("pn_apns", Gateway.apns), ("pn_fcm", .fcm), ("pn_gcm", .fcm)] {
            let plan = PlanText.plan(#"{"\#(key)":\#(value)}"#)
            #expect(plan.targets.isEmpty && plan.failures.map(\.gateway) == [gateway] && plan.gateways == [gateway])
            for absent in ["null", "\"\""] {
                let plan = PlanText.plan(#"{"\#(key)":\#(absent)}"#)
                #expect(plan.failures.isEmpty && plan.gateways.isEmpty && plan.notices.count == 1)
            }
        }
    }

    @Test("A text that is not JSON is a failure of the whole message")
    func refusesBrokenText() {
        let plan = PlanText.plan(#"{"pn_apns":{},"pn_debug":true"#)
        #expect(
            plan.failures.map(\.reason) == ["InvalidJSON"] && plan.failures.first?.gateway == nil && plan.isDebugAsked
        )
    }

    @Test("Thousands of targets and failures are bounded")
    func boundsTargets() {
        let targets = (0..<3000).map { #"{"topic":"a\#($0)"}"# }.joined(separator: ",")
        let plan = PlanText.plan(#"{"pn_apns":{"aps":{},"pn_push":[{"targets":[\#(targets)]}]}}"#)
        #expect(plan.targets.count == 1000 && plan.failures.count == 100)
        #expect(plan.failures.allSatisfy { $0.reason == "TooManyTargets" })
    }
}
