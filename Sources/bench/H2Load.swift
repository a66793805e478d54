import Foundation

/// What h2load, the load generator of nghttp2, says of one run.
struct H2LoadResult: Equatable {
    let requestsPerSecond: Double
    let succeeded: Int
    /// User and system time of the whole program.
    let processorSeconds: Double

    /// Reads the program's report, followed by what the shell's `times` prints.
    ///
    /// `nil` if it is not one.
    init?(report: String) {
        let lines = report.split(separator: "\n").map(String.init)
        guard let finished = lines.first(where: { $0.hasPrefix("finished in ") }),
            let rate = finished.split(separator: ",").dropFirst().first?.split(separator: " ").first.flatMap({
                Double($0)
            }),
            let requests = lines.first(where: { $0.hasPrefix("requests: ") }),
            let good = requests.split(separator: ",").first(where: { $0.hasSuffix(" succeeded") }),
            let count = good.split(separator: " ").first.flatMap({ Int($0) }),
            let children = lines.last
        else { return nil }
        let times = children.split(separator: " ").compactMap { H2LoadResult.seconds($0) }
        guard times.count == 2 else { return nil }
        requestsPerSecond = rate
        succeeded = count
        processorSeconds = times[0] + times[1]
    }

    /// Bash's form `1m2.345s`.
    private static func seconds(_ text: Substring) -> Double? {
        guard text.hasSuffix("s"), let middle = text.firstIndex(of: "m"),
            let minutes = Double(text[..<middle]), let rest = Double(text[text.index(after: middle)...].dropLast())
        else { return nil }
        return minutes * 60 + rest
    }
}

/// One run of h2load against the simulator, as much like the worker's pushes as it can be: the same header list,
/// the same body, as many connections and streams, 20,000 different paths.
struct H2Load {
    let port: UInt16
    let requestCount: Int
    let connectionCount: Int
    let streamCount: Int
    let folder: String
    let body: String
    let topic: String

    static let pathCount = 20_000

    /// The arguments of bash, which adds h2load's processor time to its report.
    func arguments() throws -> [String] {
        let paths = "\(folder)/h2load-paths"
        let lines = (0..<H2Load.pathCount).map { "https://localhost:\(port)/3/device/\(BenchToken.hex($0))" }
        try lines.joined(separator: "\n").write(toFile: paths, atomically: false, encoding: .utf8)
        let bodyFile = "\(folder)/h2load-body"
        try body.write(toFile: bodyFile, atomically: false, encoding: .utf8)
        let expiration = Int(Date().timeIntervalSince1970) + 3600
        let headers = [
            // 200 bytes, as long as a signed token.
            "authorization: bearer \(String(repeating: "a", count: 193))",
            "apns-topic: \(topic)", "apns-push-type: alert", "apns-priority: 10",
            "apns-expiration: \(expiration)", "apns-id: 123e4567-e89b-42d3-a456-426614174000",
        ]
        return ["-c", "\"$@\"; times", "bash", "h2load"]
            + [
                "-n", "\(requestCount)", "-c", "\(connectionCount)", "-m", "\(streamCount)", "-i", paths, "-d",
                bodyFile,
            ]
            + headers.flatMap { ["-H", $0] }
    }
}

/// Device tokens of the benchmark: 64 hex digits, different for each number.
enum BenchToken {
    static func hex(_ number: Int) -> String {
        // SplitMix64's finaliser: a bijection, so no two numbers meet.
        var state = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15
        var text = ""
        for _ in 0..<4 {
            state = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            state = (state ^ (state >> 27)) &* 0x94D0_49BB_1331_11EB
            state ^= state >> 31
            let digits = String(state, radix: 16)
            text += String(repeating: "0", count: 16 - digits.count) + digits
            state &+= 0x9E37_79B9_7F4A_7C15
        }
        return text
    }
}
