import TestSupport
import Testing
import Transport

/// The program's command line from outside: exit codes, and what people read.
@Suite(.timeLimit(.minutes(1))) struct CommandLineTests {
    @Test(
        "Help is on standard output and good",
        arguments: [["--help"], ["-h"], ["help"], ["worker", "--help"], ["worker", "-h"]]
    )
    func help(arguments: [String]) async throws {
        let result = try await BuiltProgram.run(arguments, environment: ["PUSHBRIDGE_NONSENSE": "1"])
        #expect(result.exit == .code(0))
        #expect(result.output.contains("worker"))
        #expect(result.error.isEmpty)
    }

    @Test("Help of the worker names every setting")
    func helpNamesSettings() async throws {
        let output = try await BuiltProgram.run(["worker", "--help"]).output
        for name in [
            "PUSHBRIDGE_REDIS_URL, --redis-url URL", "PUSHBRIDGE_APNS_KEY, --apns-key-file FILE",
            "PUSHBRIDGE_LOG_FORMAT",
        ] {
            #expect(output.contains(name))
        }
        #expect(!output.contains("--apns-key TEXT"))
        #expect(output.split(separator: "\n").allSatisfy { $0.count <= 110 })
    }

    @Test(
        "Wrong use ends with 2 and a sentence",
        arguments: [
            ([], "Usage: pushbridge COMMAND"),
            (["no-such-command"], #"there is no command "no-such-command""#),
            (["wroker"], "did you mean worker?"),
            (["--redis-url", "x", "worker"], "the command comes first"),
            (["worker", "--redis-ulr", "x"], "did you mean --redis-url?"),
            (["worker", "--redis-url"], "--redis-url needs a value"),
            (["worker", "--redis-url", "--log", "info"], "--redis-url needs a value"),
            (["worker", "--log", "info", "--log", "info"], "--log is given twice"),
            (["worker", "--apns-key", "x"], "use --apns-key-file or PUSHBRIDGE_APNS_KEY"),
            (["worker", "extra"], #""extra" is one argument too many"#),
            (["worker", "-x"], "there is no option -x"),
            (["worker", "\u{1B}[31m\u{202E}"], #"\u{1B}[31m\u{202E}"#),
        ] as [([String], String)]
    )
    func wrongUse(arguments: [String], text: String) async throws {
        let result = try await BuiltProgram.run(arguments)
        #expect(result.exit == .code(2))
        #expect(result.error.contains(text), "\(result.error)")
        #expect(result.output.isEmpty)
    }

    @Test("Wrong settings end with 78, all in one list")
    func wrongSettings() async throws {
        let result = try await BuiltProgram.run(
            ["worker", "--redis-url", "nonsense://", "--log=loud"],
            environment: [
                "PUSHBRIDGE_NONSENSE": "1", "PUSHBRIDGE_CREDENTIALS": "/x", "PUSHBRIDGE_APNS_KEY_FILE": "/missing",
            ]
        )
        #expect(result.exit == .code(78))
        for text in [
            "6 settings are wrong:\n", "PUSHBRIDGE_APNS_TEAM_ID is missing", "PUSHBRIDGE_NONSENSE is no setting",
            #"PUSHBRIDGE_CREDENTIALS names the file "/x", which cannot be opened"#,
            "--redis-url (PUSHBRIDGE_REDIS_URL)", "--log (PUSHBRIDGE_LOG)",
            #"the file "/missing", which cannot be opened"#,
        ] {
            #expect(result.error.contains(text), "\(result.error)")
        }
    }

    @Test("The table of settings is printed")
    func settingsTable() async throws {
        let result = try await BuiltProgram.run(["--help-settings"])
        #expect(result.exit == .code(0))
        #expect(result.output.contains("| `PUSHBRIDGE_REDIS_URL` | `redis://127.0.0.1:6379` |"))
    }
}
