import Encoding
import Testing

@Suite struct JSONWriterTests {
    @Test("Commas and colons stand where they belong")
    func separates() {
        var json = JSONWriter()
        json.beginObject()
        json.key("a")
        json.integer(1)
        json.key("b")
        json.beginArray()
        json.string("x")
        json.bool(true)
        json.null()
        json.beginObject()
        json.endObject()
        json.number(1.5)
        json.number(.infinity)
        json.endArray()
        json.key(String("c"))
        json.raw(Array("[ 1 ]".utf8))
        json.endObject()
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"a":1,"b":["x",true,null,{},1.5,null],"c":[ 1 ]}"#)
    }

    @Test(
        "Texts are escaped as far as JSON demands it",
        arguments: [
            ("", #""""#), ("a\"b\\c/", #""a\"b\\c/""#), ("\u{8}\u{C}\n\r\t\u{0}\u{1F}", #""\b\f\n\r\t\u0000\u001f""#),
            ("é€😀\u{7F}\u{2028}", "\"é€😀\u{7F}\u{2028}\""),
        ]
    )
    func escapes(text: String, written: String) throws {
        var json = JSONWriter()
        json.string(text)
        #expect(String(decoding: json.bytes, as: UTF8.self) == written)
        #expect(try JSONDocument(json.bytes).root.string == text)
    }

    @Test("Bytes that are not UTF-8 become U+FFFD")
    func repairs() {
        var json = JSONWriter()
        json.string([0x61, 0xFF, 0xC3, 0xA9, 0xE2, 0x82])
        #expect(String(decoding: json.bytes, as: UTF8.self) == "\"a\u{FFFD}é\u{FFFD}\u{FFFD}\"")
    }

    @Test("Whatever is written is valid and reads back")
    func roundTrips() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let bytes = (0..<40).map { _ in UInt8.random(in: 0...255, using: &generator) }
            var json = JSONWriter()
            json.string(bytes)
            #expect(try JSONDocument(json.bytes).root.kind == .string)
            let text = String(decoding: bytes, as: UTF8.self)
            var other = JSONWriter()
            other.string(text)
            #expect(try JSONDocument(other.bytes).root.string == text)
        }
    }
}
