import Transport

extension Routes {
    /// Why nothing can be sent to any provider; nil while one credential at least can be used.
    package var problem: String? {
        if all.isEmpty { return "there is no credential: no APNs key or certificate, and no FCM service account" }
        if all.contains(where: \.isUsable) { return nil }
        return "no credential can be used: \(all.map(\.name).sorted().joined(separator: ", "))"
    }

    /// What is wrong with single credentials, though others may do.
    package var notices: [String] {
        all.compactMap { route in route.notice.map { "\(route.name): \($0)" } }.sorted()
    }
}

extension Route {
    /// What its provider's answers say of the credential: refused, slowed down, doubted; nil: nothing.
    package var notice: String? {
        if let reason = health.reason {
            let advice = provider.gateway.advice(on: reason).map { ": \($0)" } ?? ""
            return "the provider refuses the credential (\(reason))\(advice)"
        }
        if throttle.pause(now: loop.now) != nil { return "the provider gets too much (\(throttleReason)); pushes wait" }
        return settlement.brakeNotice
    }
}
