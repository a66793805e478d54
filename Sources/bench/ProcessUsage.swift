import Foundation

/// What a running process has used so far, read from /proc.
struct ProcessUsage {
    /// User and system time of all its threads.
    ///
    /// The kernel's unit there is the nanosecond.
    let processorSeconds: Double
    let residentBytes: Int

    /// `nil` if there is no such process.
    init?(of process: Int32) {
        let tasks = "/proc/\(process)/task"
        guard let threads = try? FileManager.default.contentsOfDirectory(atPath: tasks), !threads.isEmpty else {
            return nil
        }
        var nanoseconds = 0.0
        for thread in threads {
            let times = ProcessUsage.text(of: "\(tasks)/\(thread)/schedstat").split(separator: " ")
            nanoseconds += times.first.flatMap { Double($0) } ?? 0
        }
        processorSeconds = nanoseconds / 1e9
        let status = ProcessUsage.text(of: "/proc/\(process)/status").split(separator: "\n")
        let resident = status.first { $0.hasPrefix("VmRSS:") }?.split(whereSeparator: { !$0.isNumber }).first
        residentBytes = (resident.flatMap { Int($0) } ?? 0) * 1024
    }

    private static func text(of path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }

    /// One line on the machine, so that figures are not taken for those of another.
    static var machine: String {
        let model = text(of: "/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") }
        let name =
            model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
        let kernel = text(of: "/proc/sys/kernel/osrelease").trimmingCharacters(in: .whitespacesAndNewlines)
        return "\(name), \(ProcessInfo.processInfo.activeProcessorCount) cores, Linux \(kernel)"
    }
}
