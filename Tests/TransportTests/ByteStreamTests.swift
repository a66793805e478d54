import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct ByteStreamTests {
    @Test("Ten megabytes are echoed unchanged", arguments: StreamKind.allCases)
    func echo(kind: StreamKind) async throws {
        let size = 10_000_000
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.keepsBytes = false
                server.onReceived = { stream, bytes in stream.write(bytes) }
                client.onConnected = { stream in
                    let block = (0..<251).map { UInt8($0) }
                    for _ in 0..<(size / 251 + 1) { stream.write(block) }
                }
            }
            try await loop.wait(for: "the echo") { pair.value.client.receivedCount >= size / 251 * 251 + 251 }
            try await loop.run {
                let received = pair.value.client.received
                #expect(received.indices.allSatisfy { received[$0] == UInt8($0 % 251) })
                pair.value.client.stream?.closeAfterFlush(deadline: .seconds(5))
            }
            try await loop.wait(for: "the end") { pair.value.client.isClosed && pair.value.server.isClosed }
            try await loop.run {
                #expect(pair.value.client.closeError == nil)
                #expect(pair.value.server.closeError == nil)
            }
        }
    }
}
