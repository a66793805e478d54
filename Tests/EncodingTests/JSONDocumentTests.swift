import Encoding
import Testing

@Suite struct JSONDocumentTests {
    private func text(_ value: JSONValue?) -> String? {
        value.map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test("Members are walked in their order, with the bytes as they stand")
    func walksMembers() throws {
        let root = try JSONDocument(#" { "a" : 1.50 , "b":{"x":[1,{"y":2}],"z":"\u0041"}, "a":null } "#).root
        #expect(root.members.map { text($0.key) } == [#""a""#, #""b""#, #""a""#])
        #expect(root.members.map { text($0.value) } == ["1.50", #"{"x":[1,{"y":2}],"z":"\u0041"}"#, "null"])
        let first = try #require(root.members.first { _ in true })
        #expect(String(decoding: root.document.bytes[first.range], as: UTF8.self) == #""a" : 1.50"#)
        #expect(root["a"]?.kind == .null)
        #expect(root["b"]?["z"]?.string == "A")
        #expect(text(root["b"]?["x"]?[1]) == #"{"y":2}"#)
        #expect(root["c"] == nil && root["b"]?["x"]?[2] == nil && root["b"]?["x"]?[-1] != nil)
    }

    @Test("Values that are no objects have no members, those that are no arrays no elements")
    func toleratesOtherKinds() throws {
        for text in ["1", "\"a\"", "null", "[]", "[\"a\",1]"] {
            let root = try JSONDocument(text).root
            #expect(root.members.map(\.range).isEmpty && root["a"] == nil)
        }
        for text in ["1", "\"a\"", "null", "{}", "{\"a\":1}"] {
            #expect(try JSONDocument(text).root.elements.map(\.range).isEmpty)
        }
        #expect(
            try JSONDocument("{}").root.isEmpty && JSONDocument("[ ]").root.isEmpty && !JSONDocument("[1]").root.isEmpty
        )
    }

    @Test(
        "Names compare after their escapes are resolved",
        arguments: [
            (#""pn_push""#, true), (#""\u0070n_push""#, true), (#""pn\u005Fpush""#, true), (#""pn\u005fpush""#, true),
            (#""pn_pus\u0068""#, true), (#""pn_pushx""#, false), (#""pn_pus""#, false), (#""PN_PUSH""#, false),
            (#""pn_push\u0000""#, false), (#""\ud800n_push""#, false), (#""""#, false), ("1", false),
        ]
    )
    func comparesNames(text: String, isEqual: Bool) throws {
        #expect(try JSONDocument(text).root.equals("pn_push") == isEqual)
    }

    @Test(
        "Escapes are resolved",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\u20AC""#, "é€"), (#""\ud83d\ude00!""#, "😀!"),
            (#""\ud83d""#, "\u{FFFD}"), (#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"), (#""\ud83d\u0041""#, "\u{FFFD}A"),
            (#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"), (#""é""#, "é"), (#""""#, ""), (#""\u0000""#, "\0"),
        ]
    )
    func resolvesEscapes(text: String, said: String) throws {
        let value = try JSONDocument(text).root
        #expect(value.string == said)
        #expect(value.stringBytes == Array(said.utf8))
        #expect(value.hasLoneSurrogate == said.contains("\u{FFFD}"))
    }

    @Test("Numbers are read as far as they fit")
    func readsNumbers() throws {
        #expect(try JSONDocument("9223372036854775807").root.integer == .max)
        #expect(try JSONDocument("-0").root.integer == 0)
        #expect(try JSONDocument("9223372036854775808").root.integer == nil)
        #expect(try JSONDocument("1.0").root.integer == nil)
        #expect(try JSONDocument("1.25e2").root.double == 125)
        #expect(try JSONDocument("1e999").root.double == .infinity)
        #expect(try JSONDocument("\"1\"").root.integer == nil && JSONDocument("\"1\"").root.double == nil)
        #expect(try JSONDocument("true").root.bool == true && JSONDocument("0").root.bool == nil)
    }
}
