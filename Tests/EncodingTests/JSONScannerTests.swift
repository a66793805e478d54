import Encoding
import Foundation
import Testing

@Suite struct JSONScannerTests {
    @Test(
        "Valid texts are taken",
        arguments: [
            "{}", "[]", " [ ] ", "null", "true", "false", "0", "-0", "10", "-1.5", "1e5", "1E+5", "1.0e-10", "\"\"",
            "\"a\"",
            #""\"\\\/\b\f\n\r\t\u0041""#, #""\ud83d\ude00""#, #""\ud800""#, #""\udc00\ud800""#, #""\ud800\u0041""#,
            "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"", "[1,2,[3,{\"a\":[]}],{}]",
            "\t\r\n {\"a\" : 1 , \"a\":2}\n", "[[[[[[]]]]]]", "\"0123456789abcdef0123456789\"",
            "123456789012345678901234567890",
        ]
    )
    func takesValidText(text: String) throws {
        let document = try JSONDocument(text)
        #expect(document.bytes == Array(text.utf8))
    }

    @Test(
        "Texts that RFC 8259 does not allow are refused",
        arguments: [
            "", " ", "{", "[", "}", "]", "{]", "[}", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
            "{,}", "{a:1}",
            "{'a':1}", "{1:1}", "nul", "nulll", "True", "tru", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x10",
            "1_0",
            "NaN", "Infinity", "\"", "\"a", #""\""#, #""\x""#, #""\u12""#, #""\u12G4""#, "\"\n\"", "\"\u{0}\"",
            "\"\u{1F}\"",
            "[] []", "{} x", "1 2", "\"a\" \"b\"", "//\n{}", "/**/{}", "{}//", "\u{FEFF}{}", "\u{A0}{}", "[1\u{0C}]",
            "\u{0}", "{}\u{0}",
        ]
    )
    func refusesBrokenText(text: String) {
        #expect(throws: JSONError.self) { try JSONDocument(text) }
    }

    @Test(
        "A text that is not UTF-8 is refused",
        arguments: [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x9F, 0xBF], [0xE2, 0x82],
            [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80],
            [0xFE], [0xFF], [0xFC, 0x80, 0x80, 0x80, 0x80, 0x80],
        ] as [[UInt8]]
    )
    func refusesInvalidUTF8(content: [UInt8]) {
        for padding in 0..<9 {
            let text = [0x22] + Array(repeating: 0x61, count: padding) + content + [0x22]
            #expect { try JSONDocument(text) } throws: { ($0 as? JSONError) == JSONError(.notUTF8, at: padding + 1) }
            #expect(throws: JSONError.self) { try JSONDocument(Array(text.dropLast())) }
        }
    }

    @Test("Every special byte is found at every place of a word")
    func findsSpecialBytes() throws {
        for padding in 0..<20 {
            let plain = String(repeating: "~", count: padding)
            #expect(try JSONDocument("\"\(plain)\"").root.string == plain)
            #expect(try JSONDocument("\"\(plain)\\n!\"").root.string == plain + "\n!")
            #expect(try JSONDocument("\"\(plain)é!\"").root.string == plain + "é!")
            #expect { try JSONDocument("\"\(plain)\u{1F}\"") } throws: {
                ($0 as? JSONError) == JSONError(.controlCharacter, at: padding + 1)
            }
            #expect(try JSONDocument("\"\(plain)!#[]\u{7F}\u{20}\"").root.string == plain + "!#[]\u{7F}\u{20}")
        }
    }

    @Test(
        "Nesting is as deep as the text likes, and ends neither the stack nor the patience",
        arguments: [100_000, 500_000]
    )
    func nestsDeeply(depth: Int) throws {
        let open = Array(repeating: UInt8(ascii: "["), count: depth)
        let clock = ContinuousClock()
        let duration = try clock.measure {
            #expect(throws: JSONError.self) { try JSONDocument(open) }
            let document = try JSONDocument(open + Array(repeating: UInt8(ascii: "]"), count: depth))
            #expect(document.root.range.count == 2 * depth)
            #expect(throws: JSONError.self) {
                try JSONDocument(Array(repeating: Array("{\"a\":".utf8), count: depth).flatMap { $0 })
            }
        }
        #expect(duration < .seconds(20))
    }

    @Test("An error says where")
    func placesErrors() {
        #expect { try JSONDocument("[1,x]") } throws: {
            ($0 as? JSONError) == JSONError(.unexpectedByte(UInt8(ascii: "x")), at: 3)
        }
        #expect { try JSONDocument("[1") } throws: { ($0 as? JSONError) == JSONError(.unexpectedEnd, at: 2) }
        #expect { try JSONDocument("1 1") } throws: { ($0 as? JSONError) == JSONError(.textAfterValue, at: 2) }
        #expect("\(JSONError(.textAfterValue, at: 2))" == "not valid JSON at byte 2: something follows after the end")
    }

    @Test("JSONTestSuite's verdicts hold")
    func followsTestSuite() throws {
        guard let folder = ProcessInfo.processInfo.environment["JSON_TEST_SUITE"] else { return }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".json") }
        #expect(names.count > 300)
        for name in names {
            let bytes = try Array(Data(contentsOf: URL(filePath: folder + "/" + name)))
            let isValid = (try? JSONDocument(bytes)) != nil
            if name.hasPrefix("y_") { #expect(isValid, "\(name)") }
            if name.hasPrefix("n_") { #expect(!isValid, "\(name)") }
        }
    }
}
