import Encoding

/// What a message asks for: its targets, and what is to be said about it.
///
/// A pure function of the message's bytes and the settings; no I/O, no clock.
package struct Plan: Equatable, Sendable {
    /// In the order of the message: APNs, then FCM.
    package internal(set) var targets: [Target] = []
    /// What was accepted and should be written otherwise, or was changed; collected only when traces are asked for.
    package internal(set) var notices: [PlanNotice] = []
    /// What failed so early that there is no set of devices to look up.
    package internal(set) var failures: [PlanFailure] = []
    /// `pn_debug` is true at one of its places.
    package internal(set) var isDebugAsked = false
    /// Those that the message has something for.
    package internal(set) var gateways: [Gateway] = []

    /// What a message asks for.
    ///
    /// `received` is when it was received, in unix milliseconds of Redis' clock. `explaining`: collect notices also if
    /// no traces are asked for.
    package static func make(
        _ message: [UInt8],
        received: Int64,
        settings: PlanSettings,
        explaining: Bool = false
    ) -> Plan {
        do throws(JSONError) {
            let root = try JSONDocument(message).root
            var builder = PlanBuilder(root: root, received: received, settings: settings, explaining: explaining)
            builder.build()
            return builder.plan
        } catch {
            var plan = Plan()
            plan.isDebugAsked = BrokenMessage(message).asksForTraces
            plan.failures = [PlanFailure(gateway: nil, reason: "InvalidJSON", text: "The message is \(error)")]
            return plan
        }
    }
}

/// The settings that a plan depends on.
package struct PlanSettings: Equatable, Sendable {
    /// The APNs topic of messages without `pn_push`.
    package let defaultTopic: String?
    /// The APNs environment of messages without `pn_push`.
    package let defaultEnvironment: APNsEnvironment

    package init(defaultTopic: String? = nil, defaultEnvironment: APNsEnvironment = .development) {
        self.defaultTopic = defaultTopic
        self.defaultEnvironment = defaultEnvironment
    }
}

/// Something that was accepted and should be written otherwise, or that was changed before sending.
package struct PlanNotice: Equatable, Sendable {
    /// The key it is about, as the publisher would write it; a path inside a gateway's object.
    package let key: String
    package let text: String
}

/// Something of a message that cannot be sent, and for which there are no devices to look up.
package struct PlanFailure: Equatable, Sendable {
    /// Nil: the whole message.
    package let gateway: Gateway?
    /// As written, if it can be told.
    package let environment: String?
    /// As written, if it can be told.
    package let topic: String?
    /// The provider's word for it.
    package let reason: String
    /// A sentence: what was wrong, and how to mend it.
    package let text: String

    init(gateway: Gateway?, environment: String? = nil, topic: String? = nil, reason: String, text: String) {
        self.gateway = gateway
        self.environment = environment
        self.topic = topic
        self.reason = reason
        self.text = text
    }
}
