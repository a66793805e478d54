/// The name by which one worker process is known in the queue and to Redis.
package enum ConsumerName {
    /// A new name: no two processes have the same, not on different machines and not after a restart.
    package static func make() -> String {
        let digits = (0..<12).map { _ in "0123456789abcdef".randomElement() ?? "0" }
        return "worker-" + String(digits)
    }
}
