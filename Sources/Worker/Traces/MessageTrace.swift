import Encoding

/// Writes the traces of one message that asked for them, each one JSON object.
///
/// Every trace has `stage`, `id`, `channel`, `time`, `text`; those of a target have `gateway`, and for APNs
/// `environment` and `topic`. Fields without a value are left out. Confined to the worker's loop.
package final class MessageTrace {
    private let publisher: TracePublisher
    private let id: String
    private let channel: [UInt8]

    package init(publisher: TracePublisher, id: String, channel: [UInt8]) {
        self.publisher = publisher
        self.id = id
        self.channel = channel
    }

    /// The message was taken in.
    package func received(bytes: Int, gateways: [Gateway]) {
        let names = gateways.map(\.rawValue)
        let whom = names.isEmpty ? "no gateway" : names.joined(separator: " and ")
        publish(.received, text: "\(bytes) bytes for \(whom)") {
            $0.add("bytes", bytes)
            $0.add("gateways", names)
        }
    }

    /// Something was accepted that should be written otherwise, or was changed before sending.
    package func notice(key: String, text: String) {
        publish(.notice, text: text) { $0.add("key", key) }
    }

    /// The devices of a target were looked up.
    package func devices(_ target: Target, _ tally: Tally) {
        let noun = tally.expected == 1 ? "device" : "devices"
        publish(.devices, target, text: "\(tally.expected) \(noun) for \(target.label), \(tally.excluded) excluded") {
            Self.addCounts(of: tally, to: &$0)
        }
    }

    /// A provider accepted a push.
    package func sent(_ target: Target, device: [UInt8], status: Int, name: AcceptedName) {
        publish(.sent, target, device: device, text: "sent to \(ShortenedToken(device)): \(status)") {
            $0.add("status", status)
            switch name {
            case .apnsID(let id): $0.add("apns_id", id)
            case .fcmName(let name): $0.add("name", name)
            case .unknown: break
            }
        }
    }

    /// A push will be tried again.
    package func retry(
        _ target: Target,
        device: [UInt8],
        _ setback: Setback,
        after delay: Duration,
        attempt: Int
    ) {
        let milliseconds = Int(delay.wholeMilliseconds)
        let why = setback.text ?? setback.reason
        let text = "\(ShortenedToken(device)) again in \(milliseconds) ms after attempt \(attempt): \(why)"
        publish(.retry, target, device: device, text: text) {
            $0.add("status", setback.status)
            $0.add("reason", setback.reason)
            $0.add("after_ms", milliseconds)
            $0.add("attempt", attempt)
        }
    }

    /// A registration was removed.
    package func removed(_ target: Target, device: [UInt8], status: Int, reason: String) {
        publish(.removed, target, device: device, text: "removed \(ShortenedToken(device)): \(reason)") {
            $0.add("status", status)
            $0.add("reason", reason)
        }
    }

    /// A push, or with no device a whole target, failed for good.
    package func error(
        _ target: Target,
        device: [UInt8]? = nil,
        status: Int? = nil,
        reason: String,
        text: String? = nil
    ) {
        let line =
            text ?? (device.map { "\(ShortenedToken($0)) failed: \(reason)" } ?? "\(target.label) failed: \(reason)")
        publish(.error, target, device: device, text: line) {
            $0.add("status", status)
            $0.add("reason", reason)
        }
    }

    /// A failure so early that there is no target: of the message, of a gateway, of what should have been a target.
    ///
    /// For a gateway's it is written like a target without devices, so that who waits for the end sees it.
    package func error(_ failure: PlanFailure) {
        if failure.gateway != nil {
            publish(.devices, failure, text: "no devices: \(failure.text)") { Self.addCounts(of: Tally(), to: &$0) }
        }
        publish(.error, failure, text: failure.text) { $0.add("reason", failure.reason) }
        if failure.gateway != nil {
            publish(.completed, failure, text: "nothing was sent") { Self.addOutcomes(of: Tally(), to: &$0) }
        }
    }

    private func publish(
        _ stage: TraceStage,
        _ failure: PlanFailure,
        text: String,
        fields: (inout TraceFields) -> Void
    ) {
        publish(stage, text: text) {
            $0.add("gateway", failure.gateway?.rawValue)
            $0.add("environment", failure.environment)
            $0.add("topic", failure.topic)
            fields(&$0)
        }
    }

    private static func addCounts(of tally: Tally, to fields: inout TraceFields) {
        fields.add("count", tally.expected)
        fields.add("excluded", tally.excluded)
    }

    private static func addOutcomes(of tally: Tally, to fields: inout TraceFields) {
        fields.add("expected", tally.expected)
        fields.add("sent", tally.sent)
        fields.add("removed", tally.removed)
        fields.add("errored", tally.errored)
        fields.add("expired", tally.expired)
    }

    /// The message is no JSON.
    package func invalidJSON() {
        publish(.error, text: "the message is not valid JSON; nothing was sent") { $0.add("reason", "InvalidJSON") }
    }

    /// A member of the set is no device token.
    package func unusable(_ target: Target, member: [UInt8]) {
        let text = "the set holds a member that is no device token: \(ShortenedToken(member))"
        error(target, device: member, reason: "BadDeviceToken", text: text)
    }

    /// A push, or with no device a whole target, was not sent since its time to live ran out.
    package func expired(_ target: Target, device: [UInt8]? = nil, after reason: String? = nil) {
        let who = device.map { "\(ShortenedToken($0))" } ?? target.label
        let last = reason.map { "; last answer: \($0)" } ?? ""
        publish(.expired, target, device: device, text: "\(who) expired: its time to live ran out\(last)") { _ in }
    }

    /// All pushes of a target have an outcome.
    package func completed(_ target: Target, _ tally: Tally) {
        let text = """
            \(target.label) completed: \(tally.expected) expected, \(tally.sent) sent, \(tally.removed) removed, \
            \(tally.errored) errored, \(tally.expired) expired
            """
        publish(.completed, target, text: text) { Self.addOutcomes(of: tally, to: &$0) }
    }

    private func publish(
        _ stage: TraceStage,
        _ target: Target? = nil,
        device: [UInt8]? = nil,
        text: String,
        fields: (inout TraceFields) -> Void
    ) {
        var trace = TraceFields(stage: stage, id: id, channel: channel)
        if let target { trace.add(target) }
        if let device { trace.add("device", publisher.shown(device)) }
        fields(&trace)
        publisher.publish(trace, text: text, channel: channel)
    }
}

/// The stages of traces.
package enum TraceStage: String, CaseIterable, Sendable {
    case received, notice, devices, sent, retry, removed, error, expired, completed
}
