/// The devices of a part of a message, as Redis keeps them in the field `tokens`.
///
/// One byte of flags, then for each device: two bytes of length (lowest first), a byte for each count of its ``Tries``
/// (lost, limited, server, resends), flags, the set's member. A value type without I/O.
package struct BatchTokens: Equatable, Sendable {
    /// One device, and how far its push has come.
    package struct Device: Equatable, Sendable {
        /// As it stands in the set.
        package let member: [UInt8]
        package let tries: Tries

        package init(member: [UInt8], tries: Tries = Tries()) {
            self.member = member
            self.tries = tries
        }
    }

    private static let tracesEachFlag: UInt8 = 1
    private static let retryFlag: UInt8 = 2
    private static let renewedFlag: UInt8 = 1
    private static let headBytes = 7

    package private(set) var bytes: [UInt8]

    /// No devices yet.
    ///
    /// `tracesEachDevice`: the whole target is so small that each of its devices is traced. `isRetry`: the pushes have
    /// waited for another attempt.
    package init(tracesEachDevice: Bool, isRetry: Bool = false, capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity + 1)
        bytes.append((tracesEachDevice ? Self.tracesEachFlag : 0) | (isRetry ? Self.retryFlag : 0))
    }

    /// From the field of an entry.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var tracesEachDevice: Bool { (bytes.first ?? 0) & Self.tracesEachFlag != 0 }
    package var isRetry: Bool { (bytes.first ?? 0) & Self.retryFlag != 0 }

    package mutating func append(_ device: Device) {
        let length = UInt16(truncatingIfNeeded: device.member.count)
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(UInt8(truncatingIfNeeded: length >> 8))
        let tries = device.tries
        bytes.append(tries.lost)
        bytes.append(tries.limited)
        bytes.append(tries.server)
        bytes.append(tries.resends)
        bytes.append(tries.isRenewed ? Self.renewedFlag : 0)
        bytes.append(contentsOf: device.member)
    }

    /// The devices; nil when the bytes are not of this form.
    package var devices: [Device]? {
        guard !bytes.isEmpty else { return nil }
        var devices: [Device] = []
        var index = 1
        while index < bytes.count {
            guard index + Self.headBytes <= bytes.count else { return nil }
            let length = Int(bytes[index]) | Int(bytes[index + 1]) << 8
            let start = index + Self.headBytes
            guard start + length <= bytes.count else { return nil }
            var tries = Tries()
            tries.lost = bytes[index + 2]
            tries.limited = bytes[index + 3]
            tries.server = bytes[index + 4]
            tries.resends = bytes[index + 5]
            tries.isRenewed = bytes[index + 6] & Self.renewedFlag != 0
            devices.append(Device(member: Array(bytes[start..<(start + length)]), tries: tries))
            index = start + length
        }
        return devices
    }
}
