import Foundation

extension Scenarios {
    private static let chatInterval = Duration.milliseconds(100)

    /// A fan-out to very many devices that two workers share, and a message to one device now and then meanwhile.
    ///
    /// The provider sets the pace: such a message shall go out about as it does when there is nothing else to do.
    func chatDuringFanOut() async throws -> [Table] {
        try await servers.register(fanOutDevices: sizes.replicaDeviceCount)
        let seconds = sizes.replicaDeviceCount / Scenarios.providerPace
        try await servers.register(chatDevices: (seconds + 60) * 10 + 100)
        let idle = try await chat(from: 0) { sent, _ in sent >= 100 }
        let memoryBefore = try servers.workerUsages().map(\.residentBytes)
        let redisBefore = try await servers.redisBytes()
        var memoryPeak = memoryBefore
        var redisPeak = redisBefore
        let total = try await servers.pushCount() + sizes.replicaDeviceCount
        try await servers.publish(BenchMessage.push, on: BenchMessage.fanOutChannel)
        let busy = try await chat(from: 100) { sent, arrived in
            let memory = try servers.workerUsages().map(\.residentBytes)
            memoryPeak = zip(memoryPeak, memory).map { max($0, $1) }
            redisPeak = max(redisPeak, try await servers.redisBytes())
            return arrived >= total + sent
        }
        try await servers.untilInboxIsEmpty()
        let shares = try servers.stopWorkers()

        var table = Table(
            "\(Figures.text(Double(sizes.replicaDeviceCount))) devices, 2 workers, a provider with"
                + " \(Scenarios.providerPace) answers a second after 20 ms; a message to one device each 100 ms",
            columns: ["p50 ms", "p99 ms"]
        )
        for (name, values) in [("nothing else to do", idle), ("during the fan-out", busy)] {
            let cells = [0.5, 0.99].map { Figures.text(Figures.percentile($0, of: values) / 1000, decimals: 2) }
            table.add(name, cells[0], cells[1])
        }
        let ratio = Figures.percentile(0.99, of: busy) / Figures.percentile(0.99, of: idle)
        table.add("ratio", "", Figures.text(ratio, decimals: 2) + " x")
        return [table, use(memoryBefore, memoryPeak, redisPeak - redisBefore, shares)]
    }

    private func use(_ before: [Int], _ peak: [Int], _ redis: Int, _ shares: [Int]) -> Table {
        var table = Table("Pushes and memory of each", columns: ["pushes", "resident before", "highest"])
        for (index, share) in shares.enumerated() {
            let growth = Figures.megabytes(peak[index] - before[index])
            table.add(
                "worker \(index + 1)",
                Figures.text(Double(share)),
                Figures.megabytes(before[index]),
                "\(Figures.megabytes(peak[index])) (+ \(growth))"
            )
        }
        table.add("Redis", "", "", "+ \(Figures.megabytes(redis))")
        return table
    }

    /// Publishes to one device after the other until `isDone`; the microseconds from publishing to arrival.
    ///
    /// `isDone` is asked about once a second with the numbers of messages published here and of pushes arrived.
    private func chat(
        from first: Int,
        until isDone: (_ sent: Int, _ arrived: Int) async throws -> Bool
    ) async throws -> [Double] {
        let clock = ContinuousClock()
        let start = clock.now
        var published: [String: Double] = [:]
        var number = first
        while true {
            try await clock.sleep(until: start + Scenarios.chatInterval * (number - first), tolerance: .zero)
            published[BenchMessage.chatToken(number)] = Date().timeIntervalSince1970 * 1e6
            try await servers.publish(BenchMessage.push, on: BenchMessage.chatChannel(number))
            number += 1
            guard (number - first) % 10 == 0 else { continue }
            if try await isDone(number - first, try await servers.pushCount()) { break }
            guard clock.now - start < Scenarios.deadline * 3 else {
                throw BenchError("the fan-out did not end within \(Scenarios.deadline * 3)")
            }
        }
        try await servers.untilInboxIsEmpty()
        let arrivals = try await servers.arrivalMicroseconds()
        let delays = published.compactMap { token, time in arrivals[token].map { $0 - time } }
        guard delays.count == published.count else {
            throw BenchError("of \(published.count) messages to one device \(delays.count) arrived")
        }
        return delays
    }
}
