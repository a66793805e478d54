/// One header line: a name in lower case and its value's bytes as they came or will be sent.
package struct HTTP2HeaderField: Hashable, Sendable {
    package let name: String
    package let value: [UInt8]

    package init(_ name: String, _ value: [UInt8]) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, _ value: String) {
        self.init(name, Array(value.utf8))
    }

    /// A header as the library hands it over, its name in lower case already.
    init(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        self.init(unsafe String(decoding: name, as: UTF8.self), unsafe Array(value))
    }

    /// The value as text; bytes that are not UTF-8 become U+FFFD.
    package var text: String { String(decoding: value, as: UTF8.self) }

    /// Refuses what RFC 9113 section 8.2.1 forbids: a name that is no lower-case token, a value with controls.
    package func validate() throws(HTTP2Error) {
        let isToken = name.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        guard isToken, !name.isEmpty else { throw .header(name: name, reason: "its name is no lower-case token") }
        let isClean = value.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
        guard isClean else { throw .header(name: name, reason: "its value has a control character") }
    }
}

extension [HTTP2HeaderField] {
    /// The value of the first header of that name as text.
    package func text(_ name: String) -> String? {
        first { $0.name == name }?.text
    }
}
