import Foundation

/// Fan-outs to a provider that is far away, over connections whose send window is the limit.
struct WindowScenario {
    let programs: Servers.Programs
    let sizes: Scenarios.Sizes

    private static let distance = 0.05
    private static let window = 65_535

    /// With small bodies, and with the largest.
    func run() async throws -> Table {
        var table = Table(
            "Fan-out to a provider 50 ms away, 1000 streams and a window of 65,535 bytes on each connection",
            columns: ["connections", "pushes/s", "limit"]
        )
        for bodyCount in [300, 4096] {
            let (connections, rate) = try await run(bodyCount: bodyCount)
            let ofOne = min(1000, Double(Self.window) / Double(bodyCount)) / Self.distance
            let limit = ofOne * Double(connections)
            let name = "bodies of \(bodyCount) bytes"
            table.add(name, "\(connections)", Figures.text(rate), Figures.text(limit))
            table.add("ratio", "", Figures.text(rate / limit, decimals: 2) + " x")
        }
        return table
    }

    /// The connections and the pushes a second, once no more connections are added.
    private func run(bodyCount: Int) async throws -> (connections: Int, rate: Double) {
        let options = ["--lean", "--delay-ms", "50", "--streams", "1000", "--window", "\(Self.window)"]
        let servers = try await Servers(programs, simulatorOptions: options)
        // About ten seconds' worth, whatever the size.
        let count = bodyCount > 1000 ? sizes.deviceCount / 4 : sizes.deviceCount * 2
        try await servers.register(fanOutDevices: count)
        let message = BenchMessage.push(bodyOf: bodyCount)
        try await servers.publish(message, on: BenchMessage.fanOutChannel)
        let clock = ContinuousClock()
        let deadline = clock.now + Scenarios.deadline
        var samples: [(time: Double, arrived: Int, connections: Int)] = []
        let start = clock.now
        while (samples.last?.arrived ?? 0) < count {
            let arrived = try await servers.pushCount()
            let connections = try await servers.connectionCount()
            samples.append((Scenarios.seconds(clock.now - start), arrived, connections))
            guard clock.now < deadline else { throw BenchError("only \(arrived) of \(count) pushes have arrived") }
            try await Task.sleep(for: .milliseconds(20))
        }
        let most = samples.map(\.connections).max() ?? 0
        let steady = samples.filter { $0.connections == most && $0.arrived < count * 9 / 10 }
        guard let first = steady.first, let last = steady.last, last.time > first.time else {
            return (max(most, 1), Double(count) / Scenarios.seconds(clock.now - start))
        }
        return (most, Double(last.arrived - first.arrived) / (last.time - first.time))
    }
}
