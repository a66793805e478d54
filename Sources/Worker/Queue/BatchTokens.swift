/// The devices of a part of a message, as Redis keeps them in the field `tokens`.
///
/// One byte of flags, then for each device: two bytes of length (lowest first), attempt, resends, flags, the set's
/// member. A value type without I/O.
package struct BatchTokens: Equatable, Sendable {
    /// One device, and how far its push has come.
    package struct Device: Equatable, Sendable {
        /// As it stands in the set.
        package let member: [UInt8]
        /// The next attempt's number; 255 stands for all above.
        package let attempt: Int
        package let resends: Int
        package let isRefreshed: Bool

        package init(member: [UInt8], attempt: Int = 1, resends: Int = 0, isRefreshed: Bool = false) {
            self.member = member
            self.attempt = attempt
            self.resends = resends
            self.isRefreshed = isRefreshed
        }
    }

    private static let tracesEachFlag: UInt8 = 1
    private static let refreshedFlag: UInt8 = 1
    private static let headBytes = 5

    package private(set) var bytes: [UInt8]

    /// `tracesEachDevice`: the whole target is so small that each of its devices is traced.
    package init(tracesEachDevice: Bool, capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity + 1)
        bytes.append(tracesEachDevice ? Self.tracesEachFlag : 0)
    }

    /// From the field of an entry.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var tracesEachDevice: Bool { (bytes.first ?? 0) & Self.tracesEachFlag != 0 }

    package mutating func append(_ device: Device) {
        let length = UInt16(truncatingIfNeeded: device.member.count)
        bytes.append(UInt8(truncatingIfNeeded: length))
        bytes.append(UInt8(truncatingIfNeeded: length >> 8))
        bytes.append(UInt8(clamping: device.attempt))
        bytes.append(UInt8(clamping: device.resends))
        bytes.append(device.isRefreshed ? Self.refreshedFlag : 0)
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
            let device = Device(
                member: Array(bytes[start..<(start + length)]),
                attempt: max(1, Int(bytes[index + 2])),
                resends: Int(bytes[index + 3]),
                isRefreshed: bytes[index + 4] & Self.refreshedFlag != 0
            )
            devices.append(device)
            index = start + length
        }
        return devices
    }
}
