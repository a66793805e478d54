import Transport

/// Stream limits that a server session tells its peer but not its own library.
///
/// nghttp2 ends the connection in its own way when the peer exceeds a limit that it knows. Providers have ways of their
/// own, and a stand-in must be able to choose. So the library is given a placeholder, and the true value is written
/// into the SETTINGS frame on its way out.
struct StreamLimitAnnouncements {
    static let placeholder: UInt32 = 0x7fff_ffff

    private var limits: [UInt32] = []

    var isEmpty: Bool { limits.isEmpty }

    mutating func add(_ limit: UInt32) { limits.append(limit) }

    /// The frame with the true limit; nil if it is no SETTINGS frame that carries one (RFC 9113 section 6.5).
    mutating func applied(to frame: RawSpan) -> [UInt8]? {
        var bytes = frame.copiedBytes
        // 9: the frame's header, its type at 3; 6: one setting, two bytes of identifier and four of value.
        guard bytes.count >= 15, bytes[3] == 0x4, let limit = limits.first else { return nil }
        var place = 9
        while place + 6 <= bytes.count {
            if bytes[place] == 0, bytes[place + 1] == 0x3 {
                for index in 0..<4 { bytes[place + 2 + index] = UInt8(truncatingIfNeeded: limit >> (24 - 8 * index)) }
                limits.removeFirst()
                return bytes
            }
            place += 6
        }
        return nil
    }
}
