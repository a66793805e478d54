import Foundation

extension Scenarios {
    /// One message to very many devices, and h2load with as many requests; medians of several rounds, in turn.
    func fanOut() async throws -> (tables: [Table], h2loadProcessorSeconds: Double) {
        try await servers.register(fanOutDevices: sizes.deviceCount)
        var worker: [Work] = []
        var rival: [H2LoadResult] = []
        var connectionCount = 1
        for _ in 0..<sizes.rounds {
            let work = try await measure(pushCount: sizes.deviceCount) {
                try await servers.publish(BenchMessage.push, on: BenchMessage.fanOutChannel)
            }
            worker.append(work)
            connectionCount = max(1, try await servers.connectionCount())
            rival.append(try await servers.h2load(requestCount: sizes.deviceCount, connectionCount: connectionCount))
        }
        let count = Double(sizes.deviceCount)
        let workerRate = Figures.median(worker.map { count / $0.seconds })
        let workerCost = Figures.median(worker.map { $0.processorSeconds / count })
        let rivalRate = Figures.median(rival.map(\.requestsPerSecond))
        let rivalCost = Figures.median(rival.map { $0.processorSeconds / count })

        var table = Table(
            "Fan-out of one message to \(Figures.text(count)) devices; connections: \(connectionCount), streams of each:"
                + " \(servers.streamCount), body: \(BenchMessage.body.utf8.count) bytes; median of \(sizes.rounds)",
            columns: ["pushes/s", "CPU µs a push"]
        )
        table.add("worker", Figures.text(workerRate), Figures.text(workerCost * 1e6, decimals: 2))
        table.add("h2load", Figures.text(rivalRate), Figures.text(rivalCost * 1e6, decimals: 2))
        table.add(
            "ratio",
            Figures.text(workerRate / rivalRate, decimals: 2) + " x",
            Figures.text(workerCost / rivalCost, decimals: 2) + " x"
        )
        return ([table, memory(of: worker)], rivalCost)
    }

    private func memory(of work: [Work]) -> Table {
        let before = work.first?.residentBefore ?? 0
        let peak = work.map(\.residentPeak).max() ?? 0
        var table = Table("Resident memory of the worker")
        table.add("before the first fan-out", Figures.megabytes(before))
        table.add("highest during one", Figures.megabytes(peak), "(+ \(Figures.megabytes(peak - before)))")
        table.add("after the last", Figures.megabytes(work.last?.residentAfter ?? 0))
        return table
    }

    /// Many messages to one device each.
    func singleMessages(h2loadProcessorSeconds: Double) async throws -> Table {
        try await servers.register(singleDevices: sizes.singleMessageCount)
        let work = try await measure(pushCount: sizes.singleMessageCount) {
            try await servers.publish(BenchMessage.push, onSingleChannels: sizes.singleMessageCount)
        }
        let count = Double(sizes.singleMessageCount)
        let cost = work.processorSeconds / count
        var table = Table(
            "\(Figures.text(count)) messages to one device each",
            columns: ["messages/s", "CPU µs a message"]
        )
        table.add("worker", Figures.text(count / work.seconds), Figures.text(cost * 1e6, decimals: 2))
        table.add("ratio to an h2load request", "", Figures.text(cost / h2loadProcessorSeconds, decimals: 2) + " x")
        return table
    }

    /// Messages without a push, heard by the worker and by a minimal subscriber in C at the same time.
    ///
    /// A push at the end shows that the worker has come so far.
    func plainMessages() async throws -> Table {
        try await servers.register(singleDevices: 1)
        let subscriber = try servers.startSubscriber(messageCount: sizes.plainMessageCount)
        let work = try await measure(pushCount: 1) {
            try servers.publishPlain(count: sizes.plainMessageCount)
            try await servers.publish(BenchMessage.push, on: BenchMessage.singleChannel(0))
        }
        let rival = try await servers.processorSeconds(ofSubscriber: subscriber)
        let count = Double(sizes.plainMessageCount)
        var table = Table(
            "\(Figures.text(count)) messages without a push, of \(BenchMessage.plain.utf8.count) bytes",
            columns: ["CPU µs a message"]
        )
        table.add("worker", Figures.text(work.processorSeconds / count * 1e6, decimals: 3))
        table.add("hiredis subscriber in C", Figures.text(rival / count * 1e6, decimals: 3))
        table.add("ratio", Figures.text(work.processorSeconds / rival, decimals: 2) + " x")
        return table
    }

    /// Time from publishing to the arrival of the request at the provider, at a steady rate.
    func latency() async throws -> Table {
        let count = sizes.latencySeconds * Scenarios.messagesPerSecond
        try await servers.register(singleDevices: count)
        let interval = Duration.seconds(1) / Scenarios.messagesPerSecond
        let clock = ContinuousClock()
        let start = clock.now
        var published: [String: Double] = [:]
        var roundTrips: [Double] = []
        for number in 0..<count {
            try await clock.sleep(until: start + interval * number, tolerance: .zero)
            if number % 10 == 0 { roundTrips.append(try await servers.redisRoundTripMicroseconds()) }
            published[BenchMessage.singleToken(number)] = Date().timeIntervalSince1970 * 1e6
            try await servers.publish(BenchMessage.push, on: BenchMessage.singleChannel(number))
        }
        try await untilArrived(count)
        let arrivals = try await servers.arrivalMicroseconds()
        let delays = arrivals.compactMap { token, arrival in published[token].map { arrival - $0 } }
        guard delays.count == count else {
            throw BenchError("of \(count) messages sent for the latency \(delays.count) arrived")
        }
        var table = Table(
            "Publish to arrival at the provider, \(Scenarios.messagesPerSecond) messages a second for \(sizes.latencySeconds) s",
            columns: ["p50 ms", "p99 ms"]
        )
        for (name, values) in [("worker", delays), ("Redis round trip", roundTrips)] {
            let cells = [0.5, 0.99].map { Figures.text(Figures.percentile($0, of: values) / 1000, decimals: 2) }
            table.add(name, cells[0], cells[1])
        }
        return table
    }
}
