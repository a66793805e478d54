import Foundation
import Transport

/// Measures the worker against programs that do the least that is possible, all in one run; prints ratios.
///
///     bench PUSHBRIDGE SUBSCRIBER [SCALE [costs|latency|replicas|faults|windows]]
///
/// `scripts/bench` builds what it needs and starts it. A scale under 1 is for trying the benchmark itself.
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments
        guard (3...5).contains(arguments.count), let scale = Double(arguments.count > 3 ? arguments[3] : "1"),
            scale > 0, let parts = arguments.count > 4 ? Part(rawValue: arguments[4]).map({ [$0] }) : Part.allCases
        else {
            StandardStream.error.write(
                "use: bench PUSHBRIDGE SUBSCRIBER [SCALE [costs|latency|replicas|faults|windows]]\n"
            )
            exit(2)
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let programs = Servers.Programs(pushbridge: arguments[1], subscriber: arguments[2], path: path)
        do {
            print("Measured on \(ProcessUsage.machine)\n")
            for part in parts { try await run(part, programs, Scenarios.Sizes(scale: scale)) }
        } catch {
            StandardStream.error.write("bench: \(error)\n")
            exit(1)
        }
    }

    /// What can be measured alone.
    private enum Part: String, CaseIterable {
        case costs, latency, replicas, faults, windows
    }

    private static func run(_ part: Part, _ programs: Servers.Programs, _ sizes: Scenarios.Sizes) async throws {
        switch part {
        case .costs: try await measureCosts(Scenarios(servers: Servers(programs), sizes: sizes))
        case .latency:
            let recording = try await Servers(programs, simulatorOptions: ["--lean", "--record"])
            print(try await Scenarios(servers: recording, sizes: sizes).latency())
        case .faults: print(try await FaultScenario(programs: programs, sizes: sizes).run())
        case .windows: print(try await WindowScenario(programs: programs, sizes: sizes).run())
        case .replicas: for table in try await replicas(programs, sizes) { print(table) }
        }
    }

    /// Two workers, and providers that set the pace, so that no processor is busy all the time.
    private static func replicas(_ programs: Servers.Programs, _ sizes: Scenarios.Sizes) async throws -> [Table] {
        let options = ["--record-devices", BenchMessage.chatTokenPrefix, "--lean", "--record", "--delay-ms", "20"]
        let servers = try await Servers(
            programs,
            simulatorOptions: options + ["--rate", "\(Scenarios.providerPace)"],
            workerCount: 2
        )
        return try await Scenarios(servers: servers, sizes: sizes).chatDuringFanOut()
    }

    private static func measureCosts(_ scenarios: Scenarios) async throws {
        let fanOut = try await scenarios.fanOut()
        for table in fanOut.tables { print(table) }
        print(try await scenarios.singleMessages(h2loadProcessorSeconds: fanOut.h2loadProcessorSeconds))
        print(try await scenarios.plainMessages())
    }

    private static func print(_ table: Table) {
        print(table.printed() + "\n")
    }

    private static func print(_ text: String) {
        StandardStream.output.write(text + "\n")
    }
}
