import Foundation
package import Transport

/// The program as it was built beside these tests, run in a constructed environment.
package enum BuiltProgram {
    /// What one run left.
    package struct Result: Sendable {
        package let exit: ChildProcess.Exit?
        package let output: String
        package let error: String
    }

    /// The folder of the build's products.
    package static let folder: String = {
        let bundle = CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        let path = bundle.range(of: ".xctest").map { String(bundle[..<$0.lowerBound]) } ?? bundle
        return path.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    }()

    package static var path: String { "\(folder)/pushbridge" }

    /// Runs the program to its end; nil as exit when it did not come within the deadline, and the program was killed.
    package static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        within deadline: Duration = .seconds(20)
    ) async throws -> Result {
        let folder = try TemporaryFolder()
        let process = try ChildProcess(
            path,
            arguments,
            environment: environment,
            standardOutput: .file(path: folder.path(of: "output")),
            standardError: .file(path: folder.path(of: "error"))
        )
        let exit = try await process.end(within: deadline)
        return Result(
            exit: exit,
            output: String(decoding: try File.read(folder.path(of: "output")), as: UTF8.self),
            error: String(decoding: try File.read(folder.path(of: "error")), as: UTF8.self)
        )
    }
}
