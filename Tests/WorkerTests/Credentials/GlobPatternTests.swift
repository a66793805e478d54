import Testing
import Worker

@Suite struct GlobPatternTests {
    @Test(
        "Patterns fit as in Redis",
        arguments: [
            ("shop.*", "shop.1", true), ("shop.*", "shop.", true), ("shop.*", "shop", false), ("*", "", true),
            ("", "", true), ("", "x", false), ("a*b*c", "aXbYbc", true), ("a*b*c", "aXbYb", false),
            ("*.example", "a.example", true), ("**", "x", true), ("?", "x", true), ("?", "", false),
            ("h?llo", "hello", true), ("h[ae]llo", "hallo", true), ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true), ("h[^e]llo", "hello", false), ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true), ("h[a-]llo", "h-llo", true), ("h\\*llo", "h*llo", true),
            ("h\\*llo", "hello", false), ("[\\]]", "]", true), ("[abc", "b", true), ("x\\", "x\\", true),
            ("*a*a*a*a*a*a*a*b", String(repeating: "a", count: 2000), false), ("Shop", "shop", false),
            ("ä*", "äö", true),
        ]
    )
    func matches(pattern: String, text: String, fits: Bool) {
        #expect(GlobPattern(pattern).matches(text) == fits)
    }

    @Test(
        "Exact patterns are told from others, and those by how much they say",
        arguments: [
            ("com.example", true, 11), ("com.*", false, 4), ("a?c", false, 2), ("a[bc]", false, 1), ("\\*", true, 1),
            ("", true, 0), ("*", false, 0),
        ]
    )
    func weights(pattern: String, isExact: Bool, weight: Int) {
        #expect(GlobPattern(pattern).isExact == isExact)
        #expect(GlobPattern(pattern).weight == weight)
    }
}
