import Foundation

/// Pushes to providers that fail in every way they do now and then, against the same without faults.
struct FaultScenario {
    let programs: Servers.Programs
    let sizes: Scenarios.Sizes

    /// What goes wrong in the run with faults, as scripts of the simulator.
    private static let faultScript = """
        [{"share":0.01,"status":410},{"share":0.01,"status":429,"reason":"TooManyRequests"}]
        """

    /// One run: how many pushes a second, and what became of all of them.
    private struct FaultRun {
        let rate: Double
        let tally: PushCounts
        let connections: Int
    }

    /// The same work with providers that behave and with providers that do not; checks what became of each push.
    func run() async throws -> Table {
        let calm = try await run(script: "[]", conduct: "{}")
        let cuts = 6
        let interval = sizes.faultSeconds * 1000 / cuts
        let conduct = "{\"goaway_every\":5000,\"cut_every_ms\":\(interval),\"cut\":\"drop\"}"
        let faulty = try await run(script: Self.faultScript, conduct: conduct)

        var table = Table(
            "Pushes for \(sizes.faultSeconds) s, answers after 50 ms, checked as providers do: 1 % 410, 1 % 429,"
                + " GOAWAY after 5,000 requests on each connection, \(cuts) connections cut",
            columns: ["pushes/s", "pushes", "requests", "connections", "again after a cut", "again for no reason"]
        )
        for (name, run) in [("without faults", calm), ("with faults", faulty)] {
            table.add(
                name,
                Figures.text(run.rate),
                Figures.text(Double(run.tally.pushes)),
                Figures.text(Double(run.tally.requests)),
                Figures.text(Double(run.connections)),
                Figures.text(Double(run.tally.repeatedAfterCut)),
                Figures.text(Double(run.tally.repeatedWithoutReason))
            )
        }
        table.add("ratio", Figures.text(faulty.rate / calm.rate, decimals: 2) + " x")
        return table
    }

    private func run(script: String, conduct: String) async throws -> FaultRun {
        let options = ["--delay-ms", "50", "--tally", "--record-devices", "none"]
        let servers = try await Servers(programs, simulatorOptions: options)
        try await servers.control("/script", body: script)
        try await servers.control("/conduct", body: conduct)
        try await servers.register(fanOutDevices: sizes.deviceCount)
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(sizes.faultSeconds)
        var asked = 0
        while clock.now < end {
            // There is always work: what a message asks for is what is registered, since dead devices are removed.
            if asked - (try await servers.pushCount()) < sizes.deviceCount {
                asked += try await servers.fanOutDeviceCount()
                try await servers.publish(BenchMessage.push, on: BenchMessage.fanOutChannel)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        let requests = Double(try await servers.pushCount())
        let seconds = Scenarios.seconds(clock.now - start)
        try await servers.untilInboxIsEmpty()
        let tally = try await servers.tally()
        let connections = try await servers.openedConnectionCount()
        let outcomes = try servers.stopWorkersForOutcomes()
        try check(tally, outcomes)
        let share = Double(tally.pushes) / Double(max(tally.requests, 1))
        return FaultRun(rate: requests * share / seconds, tally: tally, connections: connections)
    }

    /// Each push has exactly one outcome, which is the provider's, and none came again without a reason.
    private func check(_ tally: PushCounts, _ outcomes: Outcomes) throws {
        guard outcomes.all == tally.pushes else {
            throw BenchError("\(tally.pushes) pushes have \(outcomes.all) outcomes: \(tally), \(outcomes)")
        }
        guard tally.repeatedWithoutReason == 0 else {
            throw BenchError("\(tally.repeatedWithoutReason) pushes came again for no reason")
        }
        // Answers on their way when a connection was cut may have arrived.
        let accepted = tally.accepted...(tally.accepted + tally.unanswered)
        let gone = tally.gone...(tally.gone + tally.unanswered)
        guard accepted.contains(outcomes.sent), gone.contains(outcomes.removed),
            outcomes.errored == 0, outcomes.expired == 0
        else { throw BenchError("outcomes are not what the provider answered: \(tally), \(outcomes)") }
    }
}

/// What the simulator has counted of pushes by their names.
struct PushCounts {
    let requests: Int
    let pushes: Int
    let accepted: Int
    let gone: Int
    let unanswered: Int
    let repeatedAfterCut: Int
    let repeatedWithoutReason: Int
}

/// What a worker has counted at its end.
struct Outcomes {
    var sent = 0
    var removed = 0
    var errored = 0
    var expired = 0

    var all: Int { sent + removed + errored + expired }
}
