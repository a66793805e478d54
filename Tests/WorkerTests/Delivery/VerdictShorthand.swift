import Worker

extension Verdict {
    /// A failure of one push, as most are.
    static func failed(reason: String) -> Verdict { .failed(reason: reason, fault: .push) }
}
