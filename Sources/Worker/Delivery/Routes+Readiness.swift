extension Routes {
    /// Why nothing can be sent to any provider; nil while one credential at least can be used.
    package var problem: String? {
        if all.isEmpty { return "there is no credential: neither an APNs key nor an FCM service account is set" }
        if all.contains(where: \.isUsable) { return nil }
        return "no credential can be used: \(all.map(\.name).sorted().joined(separator: ", "))"
    }
}
