import Encoding
import Worker

/// What `send` shows of an answer.
struct SendReport {
    let ending: SingleSend.Ending
    let token: [UInt8]
    let kind: RegistrationKind

    var isAccepted: Bool {
        if case .answered(let answer) = ending { answer.verdict == .sent } else { false }
    }

    private var provider: String { kind.isAPNs ? "APNs" : "FCM" }

    /// For people.
    var text: String {
        switch ending {
        case .unanswered(let reason, let text):
            let advice = kind.gateway.advice(on: reason).map { "\n\(Self.sentence($0))" } ?? ""
            return "not sent: \(Printable.escaped(text)) (\(Printable.value(reason)))\(advice)\n"
        case .answered(let answer):
            guard let reason = answer.reason else { return accepted(answer) }
            let known = kind.gateway.advice(on: reason) ?? Self.general(answer.verdict)
            return """
                \(provider) refused it: \(answer.status) \(Printable.value(reason)) (\(place(answer)))
                \(Self.sentence(known))

                """
        }
    }

    private func place(_ answer: SingleSend.Answer) -> String { "\(kind.label), \(answer.credential)" }

    private func accepted(_ answer: SingleSend.Answer) -> String {
        let name =
            answer.name.map { kind.isAPNs ? ", apns-id \(Printable.value($0))" : ", \(Printable.value($0))" } ?? ""
        let unique = answer.uniqueID.map { ", apns-unique-id \(Printable.value($0))" } ?? ""
        return "\(provider) accepted it (\(place(answer)))\(name)\(unique)\n"
    }

    /// What to do about a reason that is not in the tables.
    private static func general(_ verdict: Verdict) -> String {
        switch verdict {
        case .retry: "the provider cannot take it at the moment: try again later"
        case .credential: "the provider refuses the credential: check keys, IDs and this machine's clock"
        default: "this reason is not known; see the provider's documentation"
        }
    }

    private static func sentence(_ advice: String) -> String {
        advice.prefix(1).uppercased() + advice.dropFirst() + "."
    }

    /// One JSON object and a line break.
    var line: [UInt8] {
        var json = JSONWriter()
        func add(_ name: String, _ value: String?) {
            guard let value else { return }
            json.key(name)
            json.string(value)
        }
        json.beginObject()
        json.key("accepted")
        json.bool(isAccepted)
        add("token", String(decoding: token, as: UTF8.self))
        add("gateway", kind.gateway.rawValue)
        if case .apns(let environment, let topic) = kind {
            add("environment", environment.rawValue)
            add("topic", topic)
        }
        switch ending {
        case .unanswered(let reason, let text):
            add("reason", reason)
            add("text", text)
            add("advice", kind.gateway.advice(on: reason))
        case .answered(let answer):
            add("credential", answer.credential)
            json.key("status")
            json.integer(answer.status)
            add(kind.isAPNs ? "apns_id" : "name", answer.name)
            add("apns_unique_id", answer.uniqueID)
            add("reason", answer.reason)
            add("advice", answer.reason.flatMap { kind.gateway.advice(on: $0) })
        }
        json.endObject()
        return json.bytes + [0x0A]
    }
}
