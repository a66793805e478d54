import Encoding
import TestSupport
import Testing
import Transport
import Worker

@Suite struct CredentialsFileTests {
    private static let path = "/etc/pushbridge/credentials.json"
    private static let key = #""kind":"apns-key","key_file":"AuthKey_KEY4567890.p8","team_id":"TEAM567890""#
    private static let certificate = #""kind":"apns-certificate","file":"/secrets/apns.pem""#
    private static let project = #""kind":"fcm","service_account_file":"shop.json""#

    private static let files: Result<[String: FileContents], any Error> = Result {
        let certificate = try CredentialSamples.certifiedKey(topics: ["com.example.app", "com.example.app.voip"])
        let development = try CredentialSamples.certifiedKey(
            topics: ["com.a"],
            others: [("1.2.840.113635.100.6.3.1", [0x05, 0x00])]
        )
        let p8 = try CredentialSamples.key.get().privatePEM()
        return [
            "/etc/pushbridge/AuthKey_KEY4567890.p8": p8, "/etc/pushbridge/own.p8": p8,
            "/secrets/apns.pem": certificate.chainPEM + certificate.keyPEM,
            "/secrets/dev.pem": development.chainPEM + development.keyPEM,
            "/etc/pushbridge/shop.json": try CredentialSamples.account("shop"), "/word": Array("word\n".utf8),
        ].mapValues { FileContents(bytes: $0) }
    }

    private func input(_ json: String) throws -> SettingsInput {
        var input = SettingsInput(environment: ["PUSHBRIDGE_CREDENTIALS": Self.path], files: try Self.files.get())
        input.files[Self.path] = FileContents(bytes: Array(json.utf8), isReadableByOthers: true)
        input.now = currentUnixMilliseconds() / 1000
        return input
    }

    @Test("Entries of each kind are read, with what they are for; paths count from the file's folder")
    func entries() throws {
        let credentials = try input(
            """
            [{\(Self.key),"environments":["production"],"topics":["com.a","com.b.*"]},
             {\(Self.certificate),"environments":[],"topics":null,"password_file":null},
             {\(Self.project),"channels":["shop.*"]},
             {"kind":"apns-key","key_file":"own.p8","key_id":"OWN4567890","team_id":"TEAM567890"}]
            """
        ).read().credentials
        #expect(
            credentials.map(\.name) == [
                "key KEY4567890", "certificate Apple Push Services: com.example.app", "project shop", "key OWN4567890",
            ]
        )
        #expect(credentials[0].environments == [.production])
        #expect(credentials[0].topics == [GlobPattern("com.a"), GlobPattern("com.b.*")])
        #expect(credentials[1].environments == [.production, .development])
        #expect(credentials[2].channels == [GlobPattern("shop.*")])
        #expect(credentials.map(\.origin) == (1...4).map { "entry \($0) of PUSHBRIDGE_CREDENTIALS" })
        #expect(credentials.allSatisfy { !$0.isFallback })
    }

    @Test("The single variables come after the entries")
    func singles() throws {
        var input = try input("[{\(Self.project)}]")
        input.environment["PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE"] = "/etc/pushbridge/shop.json"
        #expect(try input.read().credentials.map(\.isFallback) == [false, true])
        #expect(try input.read().warnings.isEmpty)
    }

    @Test("The text itself may be given, and a file that holds it or its path")
    func forms() throws {
        let text = #"[{"kind":"fcm","service_account_file":"/etc/pushbridge/shop.json"}]"#
        var input = SettingsInput(environment: ["PUSHBRIDGE_CREDENTIALS": text], files: try Self.files.get())
        #expect(try input.read().credentials.count == 1)
        input.environment = ["PUSHBRIDGE_CREDENTIALS_FILE": Self.path]
        input.files[Self.path] = FileContents(bytes: Array("[{\(Self.project)}]\n".utf8))
        #expect(try input.read().credentials.count == 1)
        input.environment = ["PUSHBRIDGE_CREDENTIALS_FILE": "/where"]
        input.files["/where"] = FileContents(bytes: Array("\(Self.path)\n".utf8))
        #expect(try input.read().credentials.count == 1)
        input = SettingsInput(flags: ["credentials": Self.path], files: input.files)
        #expect(try input.read().credentials.count == 1)
    }

    @Test(
        "Every mistake is one sentence that names the entry and the field",
        arguments: [
            ("{", ["is not JSON"]), ("{}", ["is an object; it must be an array"]),
            ("", ["names a file", "is not JSON"]),
            ("[1]", ["entry 1 is a number; it must be an object"]),
            ("[{}]", ["entry 1: kind is missing; it must be one of apns-key, apns-certificate, fcm"]),
            (#"[{"kind":7}]"#, ["entry 1: kind is a number; it must be a text"]),
            (#"[{"kind":"apns_key"}]"#, [#"kind is "apns_key"; did you mean apns-key?"#]),
            ("[{\(key)},{\(key),\"topic\":[]}]", [#"entry 2 has the field "topic"; did you mean topics?"#]),
            (#"[{"kind":"apns-key","team_id":"TEAM567890"}]"#, ["entry 1: key_file is missing"]),
            (
                #"[{"kind":"apns-key","key_file":"nowhere.p8","key_id":"KEY4567890","team_id":"TEAM567890"}]"#,
                [#"entry 1: key_file names the file "/etc/pushbridge/nowhere.p8", which cannot be opened"#]
            ),
            (
                #"[{"kind":"apns-key","key_file":"own.p8","team_id":"TEAM567890"}]"#,
                ["entry 1: key_id is missing, and key_file is not named AuthKey_<ID>.p8"]
            ),
            (
                #"[{"kind":"apns-key","key_file":"own.p8","key_id":"short","team_id":"TEAM567890"}]"#,
                [#"entry 1: key_id is "short"; it must be the 10 letters and digits"#]
            ),
            (
                #"[{"kind":"apns-key","key_file":"AuthKey_KEY4567890.p8"}]"#,
                ["entry 1: team_id is missing; it must be the 10 letters and digits"]
            ),
            (
                #"[{"kind":"apns-key","key_file":"shop.json","key_id":"KEY4567890","team_id":"TEAM567890"}]"#,
                [#"entry 1: key_file (the file "/etc/pushbridge/shop.json") is an RSA key"#]
            ),
            ("[{\(key),\"environments\":\"production\"}]", ["entry 1: environments must be an array of texts"]),
            ("[{\(key),\"environments\":[1]}]", ["entry 1: environments must be an array of texts"]),
            ("[{\(key),\"environments\":[\"sandbox\"]}]", [#"environments has "sandbox"; did you mean development?"#]),
            ("[{\(key),\"topics\":[\"com/a\"]}]", [#"entry 1: topics has "com/a"; it may have a bundle ID"#]),
            ("[{\(key),\"topics\":[\"\"]}]", [#"entry 1: topics has """#]),
            ("[{\(key),\(key)}]", ["kind twice", "key_file twice", "team_id twice"]),
            (#"[{"kind":"apns-certificate"}]"#, ["entry 1: file is missing"]),
            (
                "[{\(certificate),\"password_file\":\"/missing\"}]",
                [#"entry 1: password_file names the file "/missing", which cannot be opened"#]
            ),
            (
                #"[{"kind":"apns-certificate","file":"own.p8"}]"#,
                ["entry 1: file (the file \"/etc/pushbridge/own.p8\"): the certificate is missing"]
            ),
            (
                #"[{"kind":"apns-certificate","file":"/secrets/dev.pem","environments":["production"]}]"#,
                ["entry 1: environments does not have development, which the certificate is for"]
            ),
            (#"[{"kind":"fcm"}]"#, ["entry 1: service_account_file is missing"]),
            (
                #"[{"kind":"fcm","service_account_file":"own.p8"}]"#,
                [#"entry 1: service_account_file (the file "/etc/pushbridge/own.p8") is not JSON"#]
            ),
            (#"[{"kind":"fcm","service_account_file":""}]"#, ["entry 1: service_account_file is empty"]),
            ("[{\(project),\"channels\":[\"\"]}]", [#"entry 1: channels has ""; it may have a channel"#]),
            ("[{\(project),\"topics\":[]}]", [#"has the field "topics""#]),
        ]
    )
    func mistakes(json: String, parts: [String]) throws {
        let problems = try input(json).problems()
        guard json != "" else {
            #expect(problems.count == 1)
            return
        }
        #expect(problems.count == parts.count, "\(problems)")
        for (problem, part) in zip(problems, parts) {
            #expect(problem.hasPrefix(#"PUSHBRIDGE_CREDENTIALS (the file "/etc/pushbridge/credentials.json")"#))
            #expect(problem.contains(part), "\(problem)")
            #expect(!problem.contains("MIG"))
        }
    }

    @Test("What is wrong in several entries comes at once")
    func allAtOnce() throws {
        let problems = try input(#"[{"kind":"x"},{"kind":"fcm"},{"kind":"apns-certificate"}]"#).problems()
        #expect(problems.count == 3)
        for (index, problem) in problems.enumerated() { #expect(problem.contains("entry \(index + 1)")) }
    }

    @Test("A certificate's password is read from its file, and its lack is told how to mend")
    func password() async throws {
        let certified = try CredentialSamples.certifiedKey(topics: ["com.a"])
        var input = try input(#"[{"kind":"apns-certificate","file":"/p12","password_file":"/word"}]"#)
        input.files["/p12"] = FileContents(bytes: try await OpenSSLCommand.pkcs12(certified, password: "word"))
        #expect(try input.read().credentials.count == 1)
        input.files[Self.path] = FileContents(bytes: Array(#"[{"kind":"apns-certificate","file":"/p12"}]"#.utf8))
        let problems = input.problems()
        #expect(problems.count == 1 && problems[0].contains("password_file names the file with its password"))
    }

    @Test("Warnings: files that others may read, topics that a certificate does not cover, and what is for the same")
    func warnings() throws {
        var input = try input(
            """
            [{\(Self.certificate),"topics":["com.example.app","com.example.other"]},
             {\(Self.key),"topics":["com.a"]},{\(Self.key),"topics":["com.a"],"environments":["production"]},
             {\(Self.project),"channels":["c"]},{\(Self.project),"channels":["c","d.*"]}]
            """
        )
        for path in ["/secrets/apns.pem", "/etc/pushbridge/shop.json"] {
            input.files[path] = input.files[path].map { FileContents(bytes: $0.bytes, isReadableByOthers: true) }
        }
        let warnings = try input.read().warnings
        let parts = [
            "entry 1: file: others may read", "entry 1: topics has com.example.other", "entry 4: service_account_file",
            "entry 5: service_account_file",
            "entry 3 of PUSHBRIDGE_CREDENTIALS is for the topic com.a in production, and so is entry 2",
            "entry 5 of PUSHBRIDGE_CREDENTIALS is for the channel c, and so is entry 4",
        ]
        #expect(warnings.count == parts.count, "\(warnings)")
        for (warning, part) in zip(warnings, parts) { #expect(warning.contains(part), "\(warning)") }
    }

    @Test("A file for a command that sends nothing is not read")
    func scope() throws {
        #expect(try input("{").problems(.redis).isEmpty)
        #expect(try input("{").problems(.apns).count == 1)
    }
}
