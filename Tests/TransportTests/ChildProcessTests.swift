import Glibc
import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct ChildProcessTests {
    private func start(_ script: String, into folder: TemporaryFolder? = nil) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh",
            ["-c", script],
            environment: ["GIVEN": "a value", "PATH": "/usr/bin:/bin"],
            standardOutput: folder.map { .file(path: $0.path(of: "output")) } ?? .discard,
            standardError: .discard
        )
    }

    private func output(_ folder: TemporaryFolder) throws -> String {
        String(decoding: try File.read(folder.path(of: "output")), as: UTF8.self)
    }

    @Test("A child that blocks ends with SIGTERM in milliseconds")
    func terminate() async throws {
        let child = try ChildProcess("sleep", ["1000"], environment: [:])
        #expect(child.wait(within: .zero) == nil)
        child.terminate()
        #expect(try await child.end(within: .seconds(10)) == .signal(SIGTERM))
        // Known from now on; signals go nowhere.
        child.kill()
        #expect(child.wait(within: .zero) == .signal(SIGTERM))
    }

    @Test("SIGTERM reaches a child even if the parent has it blocked")
    func blockedSignals() async throws {
        try await withLoop { loop in
            let child = try await loop.run {
                Signals.block()
                return try ChildProcess("sleep", ["1000"], environment: [:])
            }
            child.terminate()
            #expect(try await child.end(within: .seconds(10)) == .signal(SIGTERM))
        }
    }

    @Test("A child that ignores SIGTERM is killed after the grace time")
    func stop() async throws {
        let folder = try TemporaryFolder()
        let child = try start("trap '' TERM; echo ready; while :; do read x; done", into: folder)
        try await withLoop { loop in
            try await loop.wait(for: "the child") { File.exists(folder.path(of: "output")) }
            try await loop.wait(for: "the trap") {
                try File.read(folder.path(of: "output")) == Array("ready\n".utf8)
            }
        }
        #expect(child.stop(grace: .milliseconds(50)) == .signal(SIGKILL))
    }

    @Test("The exit code, the environment and the output of a child are its own")
    func environment() async throws {
        let folder = try TemporaryFolder()
        let child = try start("echo \"$GIVEN|$HOME|$(cat)\"; exit 3", into: folder)
        #expect(try await child.end(within: .seconds(10)) == .code(3))
        #expect(try output(folder) == "a value||\n")
    }

    @Test("A child has no descriptor but the standard ones")
    func descriptors() async throws {
        let folder = try TemporaryFolder()
        let child = try start("for f in /proc/$$/fd/*; do echo ${f##*/}; done", into: folder)
        #expect(try await child.end(within: .seconds(10)) == .code(0))
        let numbers = try output(folder).split(separator: "\n").compactMap { Int($0) }
        #expect(Set(numbers).subtracting([0, 1, 2]).count <= 1, "\(numbers); one is the shell's own")
    }

    @Test("A program that is not there says so")
    func missing() {
        let text = "the program /no/such cannot be started: No such file or directory"
        #expect(throws: TransportError.unusable(text)) { try ChildProcess("/no/such", [], environment: [:]) }
    }

    @Test("A child does not outlive its owner")
    func owner() throws {
        var child: ChildProcess? = try ChildProcess("sleep", ["1000"], environment: [:])
        let identifier = try #require(child?.identifier)
        #expect(File.exists("/proc/\(identifier)"))
        child = nil
        #expect(!File.exists("/proc/\(identifier)"))
    }
}

@Suite
struct FileTests {
    @Test("Files are written at once and read with a limit; a temporary folder goes with all in it")
    func files() throws {
        var folder: TemporaryFolder? = try TemporaryFolder()
        let path = try #require(folder?.path(of: "file"))
        try File.write(Array("one".utf8), to: path, mode: 0o644)
        #expect(try FileContents.read(path, maximumBytes: 3).isReadableByOthers)
        try File.write(Array("two".utf8), to: path)
        #expect(try File.read(path) == Array("two".utf8))
        #expect(try !FileContents.read(path, maximumBytes: 3).isReadableByOthers)
        #expect(throws: TransportError.unusable("\(path) is larger than 2 bytes")) {
            try File.read(path, maximumBytes: 2)
        }
        let parent = try #require(folder?.path)
        folder = nil
        #expect(!File.exists(parent))
        #expect(throws: TransportError.unusable("\(path) cannot be opened: No such file or directory")) {
            try File.read(path)
        }
        #expect(throws: TransportError.self) { try File.write([1], to: path) }
        #expect(throws: TransportError.self) { try File.read("/") }
    }
}
