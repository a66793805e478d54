import Testing
import Transport

@Suite("Which server is reached through which proxy")
struct ProxyRulesTests {
    private static let port: UInt16 = 443

    @Test(
        "The variables are read as other programs read them",
        arguments: [
            (["HTTPS_PROXY": "http://proxy:3128"], "proxy:3128"),
            (["https_proxy": "http://small:1", "HTTPS_PROXY": "http://big:2"], "small:1"),
            (["https_proxy": "", "HTTPS_PROXY": "http://big:2"], nil),
            (["HTTPS_PROXY": "proxy:3128"], "proxy:3128"),
            (["HTTPS_PROXY": "HTTP://proxy"], "proxy:80"),
            (["HTTPS_PROXY": "http://[::1]:3128/"], "[::1]:3128"),
            (["HTTPS_PROXY": "http://me:p%40ss@proxy:3128"], "proxy:3128"),
            (["HTTP_PROXY": "http://proxy:3128", "ALL_PROXY": "http://proxy:3128"], nil),
            ([:], nil),
        ] as [([String: String], String?)]
    )
    func variables(environment: [String: String], expected: String?) throws {
        let proxy = try ProxyRules(environment).proxy(toHost: "api.push.apple.com", port: Self.port)
        #expect(proxy?.endpoint.description == expected)
    }

    @Test(
        "A proxy that cannot be used is refused in a sentence that names the variable, without its password",
        arguments: [
            "socks5://proxy:1080", "https://proxy:3128", "http://", "http://proxy:0", "http://u:%zz@p:1", "a b:1",
        ]
    )
    func unusable(text: String) {
        #expect {
            try ProxyRules(["HTTPS_PROXY": text])
        } throws: { error in
            "\(error)".hasPrefix("HTTPS_PROXY: the proxy") && !"\(error)".contains("%zz")
        }
    }

    @Test(
        "Exceptions: hosts and all below them, addresses, networks, ports",
        arguments: [
            ("*", "a.example", false),
            ("example", "a.example", false), ("example", "example", false), ("example", "anexample", true),
            (".example", "a.example", false), ("*.example", "A.Example", false), (".example", "example", false),
            ("b.example, a.example", "a.example", false), ("b.example a.example", "a.example", false),
            ("a.example:443", "a.example", false), ("a.example:444", "a.example", true),
            ("10.0.0.0/8", "10.1.2.3", false), ("10.0.0.0/8", "11.1.2.3", true), ("10.1.2.3", "10.1.2.3", false),
            ("10.1.2.3:444", "10.1.2.3", true), ("10.0.0.0/33", "10.0.0.0", true),
            ("fd00::/8", "fd12::1", false), ("fd00::/8", "fe80::1", true), ("[fd12::1]:443", "fd12::1", false),
            ("", "a.example", true), (",,", "a.example", true),
            ("", "localhost", false), ("", "LocalHost", false), ("", "127.0.0.5", false), ("", "::1", false),
            ("", "x.localhost", false), ("", "128.0.0.1", true), ("", "::2", true),
        ]
    )
    func exceptions(list: String, host: String, isProxied: Bool) throws {
        let rules = try ProxyRules(["HTTPS_PROXY": "proxy:1", "NO_PROXY": list])
        #expect((rules.proxy(toHost: host, port: Self.port) != nil) == isProxied)
    }

    @Test("A proxy never describes its password")
    func description() throws {
        #expect(try HTTPProxy("http://me:secret@proxy:3128").description == "the proxy proxy:3128")
    }
}
