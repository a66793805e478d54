import Encoding
import Testing
import Transport
import Worker

@Suite struct CredentialSettingsTests {
    private static let apnsPEM = (try? SigningKey.generate(.es256).privatePEM()) ?? []
    private static let rsaPEM = (try? SigningKey.generate(.rs256).privatePEM()) ?? []

    private static func account(_ change: (inout [String: String]) -> Void = { _ in }) -> [UInt8] {
        var members = [
            "type": "service_account", "project_id": "demo-project", "private_key_id": "abc",
            "private_key": String(decoding: rsaPEM, as: UTF8.self), "client_email": "push@demo.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token",
        ]
        change(&members)
        var json = JSONWriter()
        json.beginObject()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            json.key(name)
            json.string(value)
        }
        json.endObject()
        return json.bytes
    }

    private func file(_ bytes: [UInt8], readableByOthers: Bool = false) -> FileContents {
        FileContents(bytes: bytes, isReadableByOthers: readableByOthers)
    }

    // MARK: APNs

    @Test("The key ID comes from the file's name, and a setting beats it")
    func keyID() throws {
        let path = "/keys/AuthKey_FILE567890.p8"
        var input = SettingsInput(
            environment: ["PUSHBRIDGE_APNS_KEY_FILE": path, "PUSHBRIDGE_APNS_TEAM_ID": "TEAM567890"],
            files: [path: file(Self.apnsPEM)]
        )
        let credential = try #require(try input.apnsKey())
        #expect(credential.keyID == "FILE567890")
        #expect(credential.teamID == "TEAM567890")
        #expect(try credential.key.privatePEM() == Self.apnsPEM)
        input.environment["PUSHBRIDGE_APNS_KEY_ID"] = "SET4567890"
        #expect(try input.apnsKey()?.keyID == "SET4567890")
    }

    @Test(
        "Apple's file names, and what looks like them",
        arguments: [
            ("AuthKey_ABCDE12345.p8", "ABCDE12345"), ("/a/b/AuthKey_ABCDE12345.p8", "ABCDE12345"),
            ("AuthKeyABCDE12345.p8", "ABCDE12345"), ("AuthKey_ABCDE12345 (1).p8", "ABCDE12345"),
            ("AuthKeyABCDE12345 (12).p8", "ABCDE12345"), ("AuthKey_ABCDE12345(1).p8", "ABCDE12345"),
            ("AuthKey_ABCDE1234.p8", nil), ("AuthKey_ABCDE123456.p8", nil), ("AuthKey_ABCDE12345.pem", nil),
            ("key.p8", nil), ("AuthKey_ABCDE12345 (x).p8", nil), ("AuthKey_ABCDE12345 ().p8", nil),
            ("AuthKey_.p8", nil),
            ("", nil), ("AuthKey_ÄBCDE12345.p8", nil), ("myAuthKey_ABCDE12345.p8", nil),
        ] as [(String, String?)]
    )
    func fileNames(path: String, keyID: String?) {
        #expect(APNsCredential.keyID(inPath: path) == keyID)
    }

    @Test("A key needs both identifiers, and identifiers need a key")
    func incomplete() {
        let pem = String(decoding: Self.apnsPEM, as: UTF8.self)
        let alone = SettingsInput(environment: ["PUSHBRIDGE_APNS_KEY": pem]).problems()
        #expect(alone.count == 2)
        #expect(alone.contains { $0.hasPrefix("PUSHBRIDGE_APNS_KEY_ID is missing") })
        #expect(alone.contains { $0.hasPrefix("PUSHBRIDGE_APNS_TEAM_ID is missing") })
        let unnamed = SettingsInput(
            environment: ["PUSHBRIDGE_APNS_KEY_FILE": "/k", "PUSHBRIDGE_APNS_TEAM_ID": "TEAM567890"],
            files: ["/k": file(Self.apnsPEM)]
        ).problems()
        #expect(unnamed.count == 1 && unnamed.first?.contains("AuthKey_<ID>.p8") == true)
        let without = SettingsInput(environment: ["PUSHBRIDGE_APNS_TEAM_ID": "TEAM567890"]).problems()
        #expect(without.count == 1 && without.first?.hasPrefix("PUSHBRIDGE_APNS_KEY is missing") == true)
    }

    @Test(
        "A wrong key is refused with the reason, and never shown",
        arguments: [
            ("x5Fsecret", "is no private key"), ("/keys/AuthKey_ABCDE12345.p8", "PUSHBRIDGE_APNS_KEY_FILE"),
            (String(decoding: rsaPEM, as: UTF8.self), "is an RSA key"),
        ]
    )
    func wrongKeys(text: String, reason: String) throws {
        let input = SettingsInput(environment: [
            "PUSHBRIDGE_APNS_KEY": text, "PUSHBRIDGE_APNS_KEY_ID": "ABCDE12345",
            "PUSHBRIDGE_APNS_TEAM_ID": "TEAM567890",
        ])
        let problem = try #require(input.problems().first)
        #expect(problem.hasPrefix("PUSHBRIDGE_APNS_KEY ") && problem.contains(reason), "\(problem)")
        #expect(!problem.contains(text))
        #expect(input.problems().count == 1)
    }

    @Test(
        "A private key in the wrong place is not repeated",
        arguments: ["APNS_KEY_ID", "CA", "LOG", "CHANNELS", "FCM_URL"]
    )
    func misplacedKey(name: String) {
        let pem = String(decoding: Self.apnsPEM, as: UTF8.self)
        let text = name == "CHANNELS" ? ",\(pem)" : pem
        let problems = SettingsInput(environment: ["PUSHBRIDGE_\(name)": text]).problems()
        #expect(!problems.isEmpty)
        #expect(problems.allSatisfy { !$0.contains("MIG") })
    }

    @Test("A credential file that others may read is a warning")
    func readableByOthers() throws {
        let path = "/AuthKey_ABCDE12345.p8"
        let settings = try SettingsInput(
            environment: [
                "PUSHBRIDGE_APNS_KEY_FILE": path, "PUSHBRIDGE_APNS_TEAM_ID": "TEAM567890",
                "PUSHBRIDGE_PREFIX_FILE": "/prefix",
                "GOOGLE_APPLICATION_CREDENTIALS": "/account",
            ],
            files: [
                path: file(Self.apnsPEM, readableByOthers: true),
                "/prefix": file(Array("p:".utf8), readableByOthers: true),
                "/account": file(Self.account(), readableByOthers: true),
            ]
        ).read()
        #expect(settings.warnings.count == 2)
        #expect(settings.warnings.allSatisfy { $0.contains("others may read the file") })
    }

    // MARK: FCM

    @Test("The service account comes from its setting, or from where Google's own variable says")
    func serviceAccount() throws {
        let other = Self.account { $0["project_id"] = "other" }
        var input = SettingsInput(
            environment: ["GOOGLE_APPLICATION_CREDENTIALS": "/adc"],
            files: ["/adc": file(Self.account()), "/set": file(other)]
        )
        #expect(try input.serviceAccount()?.projectID == "demo-project")
        input.environment["PUSHBRIDGE_FCM_SERVICE_ACCOUNT_FILE"] = "/set"
        #expect(try input.serviceAccount()?.projectID == "other")
        input.environment = ["PUSHBRIDGE_FCM_SERVICE_ACCOUNT": String(decoding: Self.account(), as: UTF8.self)]
        let account = try #require(try input.serviceAccount())
        #expect(account.clientEmail == "push@demo.iam.gserviceaccount.com")
        #expect(account.privateKeyID == "abc")
        #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
        input.environment = ["GOOGLE_APPLICATION_CREDENTIALS": "/missing"]
        #expect(input.problems().first?.hasPrefix("GOOGLE_APPLICATION_CREDENTIALS names the file") == true)
    }

    @Test(
        "A wrong service account is refused with every reason",
        arguments: [
            (Array("{".utf8), ["is not JSON"]),
            (Array("[]".utf8), ["not an object"]),
            (Array("{}".utf8), ["has no project_id", "has no client_email", "has no private_key"]),
            (Array(#"{"installed":{}}"#.utf8), ["OAuth client"]),
            (Array(#"{"project_info":{}}"#.utf8), ["google-services.json"]),
            (account { $0["type"] = "authorized_user" }, ["has the type authorized_user"]),
            (account { $0["project_id"] = "../x" }, ["project_id that cannot be one"]),
            (account { $0["client_email"] = "nobody" }, ["client_email that cannot be one"]),
            (account { $0["private_key"] = "x" }, ["private_key that is no private key"]),
            (
                account { $0["private_key"] = String(decoding: apnsPEM, as: UTF8.self) },
                ["private_key that is an EC key"]
            ),
            (
                account { $0["token_uri"] = "http://evil.example/token" },
                ["token_uri with http on the host evil.example"]
            ),
            (account { $0["token_uri"] = "ftp://x/" }, ["token_uri that is not https"]),
            (account { $0["token_uri"] = "nowhere" }, ["token_uri that is no URL"]),
            (account { $0["token_uri"] = "https://a:b@host/" }, ["token_uri that is no URL"]),
        ]
    )
    func wrongAccounts(json: [UInt8], reasons: [String]) {
        let input = SettingsInput(environment: ["PUSHBRIDGE_FCM_SERVICE_ACCOUNT": String(decoding: json, as: UTF8.self)]
        )
        let problems = input.problems()
        #expect(problems.count == reasons.count, "\(problems)")
        for (problem, reason) in zip(problems, reasons) {
            #expect(problem.hasPrefix("PUSHBRIDGE_FCM_SERVICE_ACCOUNT ") && problem.contains(reason), "\(problem)")
        }
    }

    @Test(
        "Plain http is for loopback only",
        arguments: [
            "http://localhost:8085/token", "http://127.0.0.1:1/", "http://[::1]:2/token", "https://example.com",
        ]
    )
    func tokenURIs(uri: String) throws {
        let account = try FCMServiceAccount(json: Self.account { $0["token_uri"] = uri })
        #expect(account.tokenURI == uri)
    }

    @Test("A file without token_uri means Google's endpoint")
    func standardTokenURI() throws {
        let account = try FCMServiceAccount(json: Self.account { $0["token_uri"] = nil })
        #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
    }
}
