import Testing
import Worker

/// Plans written as text, so that tests are tables of messages and what becomes of them.
enum PlanText {
    static let received: Int64 = 1_764_500_000_000

    static func plan(
        _ message: String,
        defaultTopic: String? = nil,
        environment: APNsEnvironment = .development
    ) -> Plan {
        Plan.make(
            Array(message.utf8),
            received: received,
            settings: PlanSettings(defaultTopic: defaultTopic, defaultEnvironment: environment),
            explaining: true
        )
    }

    /// Everything of a plan, a line for each thing.
    static func text(_ plan: Plan) -> String {
        var lines = [
            "gateways: \(plan.gateways.map(\.rawValue).joined(separator: " "))\(plan.isDebugAsked ? ", debug" : "")"
        ]
        for target in plan.targets {
            lines.append("target: \(target.label)\(target.isLegacyForm ? ", legacy form" : "")")
            lines += target.apnsHeaders.map { "    \($0.name): \(String(decoding: $0.value, as: UTF8.self))" }
            if target.authMethod == .certificate { lines.append("    with the certificate") }
            if target.isSuffixAdded { lines.append("    suffix added") }
            if !target.exclusions.isEmpty {
                let tokens = target.exclusions.map { String(decoding: $0, as: UTF8.self) }.sorted()
                lines.append("    without: \(tokens.joined(separator: " "))")
            }
            lines.append("    for \(target.deadline - received) ms\(target.isSingleAttempt ? ", one attempt" : "")")
            if let failure = target.failure { lines.append("    failed: \(failure.reason): \(failure.text)") }
            let body = target.gateway == .fcm ? target.fcmBody(token: Array("TOKEN".utf8)) : target.body
            lines.append("    body: \(String(decoding: body, as: UTF8.self))")
        }
        for failure in plan.failures {
            let place = [failure.gateway?.rawValue, failure.environment, failure.topic].compactMap(\.self)
            lines.append("failed: \(place.joined(separator: " ")): \(failure.reason): \(failure.text)")
        }
        lines += plan.notices.map { "notice: \($0.key): \($0.text)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
