/// A Lua script and the name by which the server knows it once it has run there: the SHA-1 of its text.
package struct RedisScript: Sendable {
    package let source: String
    /// 40 lowercase hex digits.
    package let digest: String

    package init(_ source: String) {
        self.source = source
        digest = SHA1.hexDigest(of: Array(source.utf8))
    }

    /// `EVAL` with the whole text, which also makes the server keep it.
    package func command(keys: [[UInt8]], arguments: [[UInt8]]) -> RedisCommand {
        fill(RedisCommand("EVAL", capacity: 256 + source.utf8.count), source, keys, arguments)
    }

    /// `EVALSHA`, for a server that has the script.
    package func shortCommand(keys: [[UInt8]], arguments: [[UInt8]]) -> RedisCommand {
        fill(RedisCommand("EVALSHA", capacity: 256), digest, keys, arguments)
    }

    /// The command up to the number of keys, which is the next to append: by name, or with the whole text.
    func start(isShort: Bool, capacity: Int) -> RedisCommand {
        var command = RedisCommand(
            isShort ? "EVALSHA" : "EVAL",
            capacity: capacity + (isShort ? 64 : source.utf8.count)
        )
        command.append(isShort ? digest : source)
        return command
    }

    private func fill(
        _ start: RedisCommand,
        _ script: String,
        _ keys: [[UInt8]],
        _ arguments: [[UInt8]]
    ) -> RedisCommand {
        var command = start
        command.append(script)
        command.append(keys.count)
        for key in keys { command.append(key) }
        for argument in arguments { command.append(argument) }
        return command
    }
}

/// SHA-1 (FIPS 180-4 §6.1), which Redis names scripts by; not for security.
enum SHA1 {
    static func hexDigest(of message: [UInt8]) -> String {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        let padded = pad(message)
        for start in stride(from: 0, to: padded.count, by: 64) {
            compress(padded[start..<(start + 64)], into: &state)
        }
        let digits = Array("0123456789abcdef".utf8)
        let hex = state.flatMap { word in
            stride(from: UInt32(28), through: 0, by: -4).map { digits[Int(word >> $0 & 15)] }
        }
        return String(decoding: hex, as: UTF8.self)
    }

    private static func pad(_ message: [UInt8]) -> [UInt8] {
        var padded = message
        padded.append(0x80)
        while padded.count % 64 != 56 { padded.append(0) }
        let bitCount = UInt64(message.count) &* 8
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            padded.append(UInt8(truncatingIfNeeded: bitCount >> shift))
        }
        return padded
    }

    private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = [UInt32](repeating: 0, count: 80)
        for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
        for index in 16..<80 {
            words[index] = rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index / 20 {
                case 0: (b & c | ~b & d, 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            (a, b, c, d, e) = (rotate(a, 5) &+ mixed &+ e &+ constant &+ words[index], a, rotate(b, 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
