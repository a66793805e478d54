import Foundation

/// What is measured, one function each.
///
/// All run on the same servers, one after the other, so that their figures
/// belong to one machine in one state.
struct Scenarios {
    let servers: Servers
    let sizes: Sizes

    /// How much is measured.
    ///
    /// A smaller scale is for trying the benchmark itself; its figures mean little.
    struct Sizes {
        let rounds: Int
        let deviceCount: Int
        let singleMessageCount: Int
        let plainMessageCount: Int
        let latencySeconds: Int
        let replicaDeviceCount: Int
        let faultSeconds: Int

        init(scale: Double) {
            rounds = scale < 1 ? 1 : 3
            deviceCount = max(1000, Int(100_000 * scale))
            singleMessageCount = max(200, Int(20_000 * scale))
            plainMessageCount = max(2000, Int(200_000 * scale))
            latencySeconds = max(1, Int(10 * scale))
            faultSeconds = max(3, Int(60 * scale))
            replicaDeviceCount = max(20_000, Int(1_000_000 * scale))
        }
    }

    /// Processor time and wall time of the worker for a piece of work, and its resident memory meanwhile.
    struct Work {
        let processorSeconds: Double
        let seconds: Double
        let residentBefore: Int
        let residentPeak: Int
        let residentAfter: Int
    }

    static let messagesPerSecond = 500
    /// Answers a second of the providers that two workers share.
    static let providerPace = 10_000
    static let deadline = Duration.seconds(120)

    /// Does something that leads to `pushCount` more pushes, waits for the last, and says what the worker used.
    func measure(pushCount: Int, _ begin: () async throws -> Void) async throws -> Work {
        let before = try servers.workerUsage()
        let arrivedBefore = try await servers.pushCount()
        let clock = ContinuousClock()
        let start = clock.now
        var peak = before.residentBytes
        try await begin()
        try await untilArrived(arrivedBefore + pushCount) {
            peak = max(peak, try servers.workerUsage().residentBytes)
        }
        let end = clock.now
        try await servers.untilInboxIsEmpty()
        let after = try servers.workerUsage()
        return Work(
            processorSeconds: after.processorSeconds - before.processorSeconds,
            seconds: Scenarios.seconds(end - start),
            residentBefore: before.residentBytes,
            residentPeak: peak,
            residentAfter: after.residentBytes
        )
    }

    /// Waits until the simulator has received so many pushes; meanwhile does something now and then.
    func untilArrived(_ count: Int, meanwhile: () throws -> Void = {}) async throws {
        let clock = ContinuousClock()
        let deadline = clock.now + Scenarios.deadline
        while true {
            let arrived = try await servers.pushCount()
            if arrived >= count { return }
            try meanwhile()
            guard clock.now < deadline else {
                throw BenchError("after \(Scenarios.deadline) only \(arrived) of \(count) pushes have arrived")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}

/// A step of the benchmark could not be done; the text says which and why.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
