package import Transport

/// The program `openssl`: makes files as people make them.
package enum OpenSSLCommand {
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs it to its end.
    package static func run(_ arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        let process = try ChildProcess(
            "openssl",
            arguments,
            environment: ["PATH": "/usr/bin:/bin:/usr/local/bin"],
            standardOutput: .file(path: folder.path(of: "output")),
            standardError: .file(path: folder.path(of: "error"))
        )
        guard try await process.end(within: .seconds(30)) == .code(0) else {
            throw Failed(description: String(decoding: try File.read(folder.path(of: "error")), as: UTF8.self))
        }
    }

    /// A `.p12` of a certificate and its key; nil: without a password.
    package static func pkcs12(
        _ key: CertifiedKey,
        password: String?,
        arguments: [String] = []
    ) async throws -> [UInt8] {
        let folder = try TemporaryFolder()
        try File.write(key.chainPEM, to: folder.path(of: "chain.pem"))
        try File.write(key.keyPEM, to: folder.path(of: "key.pem"))
        let files = [
            "-in", folder.path(of: "chain.pem"), "-inkey", folder.path(of: "key.pem"), "-out", folder.path(of: "p12"),
        ]
        try await run(["pkcs12", "-export", "-passout", "pass:\(password ?? "")"] + files + arguments)
        return try File.read(folder.path(of: "p12"))
    }
}
