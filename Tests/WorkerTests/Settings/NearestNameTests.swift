import Testing
import Worker

@Suite struct NearestNameTests {
    @Test(
        "What somebody probably meant is found, and nothing far-fetched",
        arguments: [
            ("wroker", "worker"), ("worke", "worker"), ("device", "devices"), ("tial", "tail"), ("statsu", "status"),
            ("publsih", "publish"), ("banana", nil), ("", nil), ("x", nil),
            (String(repeating: "z", count: 100_000), nil),
        ] as [(String, String?)]
    )
    func suggestions(name: String, meant: String?) {
        let commands = ["worker", "devices", "publish", "tail", "status", "simulator", "demo"]
        #expect(NearestName.of(name, among: commands) == meant)
    }

    @Test(
        "Addresses of providers are at the root of an https host",
        arguments: [
            ("https://a.example", "a.example"), ("https://a.example/", "a.example"),
            ("HTTPS://a.example:443", "a.example"),
            ("https://a.example:8443", "a.example:8443"), ("https://[::1]", "[::1]"),
            ("https://127.0.0.1:2", "127.0.0.1:2"),
            ("http://a.example", nil), ("https://", nil), ("https://a b", nil), ("https://a.example/x", nil),
            ("https://a.example?x", nil), ("https://u@a.example", nil), ("https://a.example:", nil),
            ("https://a.example:65536", nil), ("https://a.example:-1", nil), ("https://[::1", nil),
            ("https://[a]", nil),
            ("a.example", nil), ("", nil), ("https://ä.example", nil), ("https://a.example:+80", nil),
        ] as [(String, String?)]
    )
    func providerURLs(text: String, authority: String?) {
        #expect(ProviderURL(text)?.authority == authority)
    }
}
