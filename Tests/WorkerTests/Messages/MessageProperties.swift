import Encoding
import Transport
import Worker

/// What must hold for every message, whatever its bytes: shared by the tests and the fuzz targets.
///
/// Each gives a sentence on the first thing that is wrong, or nil. Written apart from the code under test, by whole
/// values and sets of names.
enum MessageProperties {
    /// The filter agrees with a look by hand at the whole document.
    static func filter(_ bytes: [UInt8]) -> String? {
        let finding = bytes.withRawSpan { PushKeyFilter.inspect($0) }
        guard let root = try? JSONDocument(bytes).root else {
            return finding == .push ? "a broken text was taken for a push" : nil
        }
        let isPush = root.members.contains { ["pn_apns", "pn_fcm", "pn_gcm"].contains($0.key.string ?? "") }
        return (finding == .push) == isPush ? nil : "the filter found \(finding), but a push key is there: \(isPush)"
    }

    /// A scanned text falls into its parts and nothing else.
    static func document(_ bytes: [UInt8]) -> String? {
        let tape = bytes.withRawSpan { try? JSONTape($0) }
        guard let document = try? JSONDocument(bytes) else {
            return tape == nil ? nil : "a tape of a broken text"
        }
        let root = document.root
        guard tape?.nodes.first?.kind == root.kind else { return "tape and document differ" }
        var end = root.range.lowerBound
        for range in root.members.map(\.range) + root.elements.map(\.range) {
            guard range.lowerBound > end, range.upperBound <= root.range.upperBound else {
                return "a part is out of place"
            }
            guard (try? JSONDocument(Array(bytes[range]))) != nil || root.isObject else {
                return "an element is no JSON"
            }
            end = range.upperBound
        }
        var without: [UInt8] = []
        root.appendWithoutNullMembers(to: &without)
        guard let rest = try? JSONDocument(without).root else { return "not JSON any more without its nulls" }
        var again: [UInt8] = []
        rest.appendWithoutNullMembers(to: &again)
        guard again == without else { return "nulls were left" }
        return root.string.map { said in
            var json = JSONWriter()
            json.string(said)
            return (try? JSONDocument(json.bytes).root.string) == said ? nil : "a text does not read back"
        } ?? nil
    }

    /// The plan keeps its promises on bodies and headers.
    static func plan(_ bytes: [UInt8], defaultTopic: String? = "com.ex") -> String? {
        let settings = PlanSettings(defaultTopic: defaultTopic)
        let plan = Plan.make(bytes, received: 1_764_500_000_000, settings: settings, explaining: true)
        let quiet = Plan.make(bytes, received: 1_764_500_000_000, settings: settings)
        guard quiet.targets == plan.targets, quiet.failures == plan.failures else {
            return "explaining changes the plan"
        }
        guard let root = try? JSONDocument(bytes).root else {
            return plan.targets.isEmpty && plan.failures.count == 1 ? nil : "a broken text has targets"
        }
        var identities: Set<String> = []
        for target in plan.targets {
            let identity = "\(target.label) \(target.apns?.pushType.name ?? "") \(target.apns?.collapseID ?? [])"
            guard target.failure != nil || identities.insert(identity).inserted else { return "two equal targets" }
            if let problem = target.gateway == .apns ? apns(target, root) : fcm(target) { return problem }
        }
        guard plan.notices.count <= 101 else { return "too many notices" }
        return nil
    }

    private static let controlKeys: Set<String> = [
        "pn_push", "pn_debug", "pn_ttl", "pn_exceptions", "pn_collapse_id", "pn_other", "excluded_devices",
        "exclude_devices", "excludedDevices", "excludeDevices",
    ]

    private static func apns(_ target: Target, _ root: JSONValue) -> String? {
        guard let source = root["pn_apns"] else { return "an APNs target without pn_apns" }
        let kept = source.members.filter { !controlKeys.contains($0.key.string ?? "") }
        let members = kept.map { source.document.bytes[$0.range] }
        guard target.body == [0x7B] + members.joined(separator: [0x2C]) + [0x7D] else {
            return "the body is not as published"
        }
        guard (try? JSONDocument(target.body)) != nil else { return "the body is no JSON" }
        if target.failure != nil { return nil }
        for (name, value) in target.apnsHeaders {
            guard !value.isEmpty, value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                return "\(name) cannot be sent"
            }
        }
        guard let topic = target.topic, (1...255).contains(topic.utf8.count) else { return "no topic" }
        guard target.body.count <= 5120, target.apns?.topic.hasPrefix(topic) == true else {
            return "too large, or a wrong topic"
        }
        return target.exclusions.allSatisfy { !$0.contains { (0x41...0x5A).contains($0) } }
            ? nil : "an exclusion in upper case"
    }

    private static func fcm(_ target: Target) -> String? {
        let body = target.fcmBody(token: Array("to\"ken".utf8))
        guard let root = try? JSONDocument(body).root, let message = root["message"] else { return "no FCM request" }
        guard message["token"]?.string == "to\"ken" else { return "no token" }
        let allowed: Set<String> = [
            "token", "data", "notification", "android", "webpush", "apns", "fcm_options", "fcmOptions",
        ]
        let names = message.members.map { $0.key.string ?? "" }
        guard names.allSatisfy(allowed.contains), Set(names).count == names.count else {
            return "members of no v1 message"
        }
        for data in [message["data"], message["android"]?["data"], message["webpush"]?["data"]].compactMap(\.self) {
            guard data.isObject, data.members.allSatisfy({ $0.value.isString }) else { return "data is not of texts" }
        }
        guard message["notification"]?.members.allSatisfy({ $0.value.isString }) ?? true else {
            return "a bad notification"
        }
        return hasNullMember(message) ? "a null was left" : nil
    }

    /// Whether a member is null where FCM would refuse it; deep values are looked at four levels down.
    private static func hasNullMember(_ value: JSONValue, depth: Int = 0) -> Bool {
        guard depth < 4 else { return false }
        let members = value.members.contains { member in
            if depth == 1, member.key.equals("payload") || member.key.equals("notification") { return false }
            return member.value.isNull || hasNullMember(member.value, depth: depth + 1)
        }
        return members || value.elements.contains { hasNullMember($0, depth: depth + 1) }
    }
}
