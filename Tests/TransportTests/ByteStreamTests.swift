import TestSupport
import Testing
import Transport

@Suite(.timeLimit(.minutes(1)))
struct ByteStreamTests {
    @Test("Ten megabytes are echoed unchanged", arguments: StreamKind.allCases)
    func echo(kind: StreamKind) async throws {
        let block = (0..<251).map { UInt8($0) }
        let count = 40_000
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.keepsBytes = false
                server.onReceived = { stream, bytes in stream.write(bytes) }
                client.onConnected = { stream in
                    for _ in 0..<count { stream.write(block) }
                }
            }
            try await loop.wait(for: "the echo") { pair.value.client.receivedCount >= count * block.count }
            let received = try await loop.run { pair.value.client.received }
            // Compared as a whole: element by element takes seconds without optimisation.
            var sent: [UInt8] = []
            for _ in 0..<count { sent += block }
            let isUnchanged = received == sent
            #expect(isUnchanged)
            try await loop.run { pair.value.client.stream?.closeAfterFlush(deadline: .seconds(20)) }
            try await expectOrderlyEnd(pair, on: loop)
        }
    }

    @Test(
        "A writer that respects the high-water mark is told to go on, and its buffer stays bounded",
        arguments: StreamKind.allCases
    )
    func backPressure(kind: StreamKind) async throws {
        let total = 8_000_000
        try await withLoop { loop in
            let peak = LoopConfined(Log<Int>([]), on: loop)
            let pair = try await loop.pair(kind) { client, server in
                server.keepsBytes = false
                var written = 0
                let block = [UInt8](repeating: 7, count: 10_000)
                let fill: (ByteStream) -> Void = { stream in
                    while written < total, stream.pendingOutputBytes <= stream.highWaterBytes {
                        stream.write(block)
                        written += block.count
                        peak.value.entries.append(stream.pendingOutputBytes)
                    }
                }
                client.onConnected = fill
                client.onDrained = fill
                server.onConnected = { $0.pauseReading() }
            }
            try await loop.wait(for: "a full buffer") {
                let stream = pair.value.client.stream
                return (stream?.pendingOutputBytes ?? 0) > (stream?.highWaterBytes ?? .max)
            }
            try await loop.run {
                #expect(pair.value.server.receivedCount == 0)
                pair.value.server.stream?.resumeReading()
            }
            try await loop.wait(for: "all bytes") { pair.value.server.receivedCount == total }
            try await loop.run {
                #expect(peak.value.entries.max() ?? 0 <= 262_144 + 10_000)
                let drained = pair.value.client.events.count { $0 == .drained }
                #expect(drained > 0 && drained < total / 100_000)
                pair.value.client.stream?.closeAfterFlush(deadline: .seconds(20))
            }
            try await expectOrderlyEnd(pair, on: loop)
        }
    }

    @Test("What waited longer than it may is dropped with its stream", arguments: StreamKind.allCases)
    func staleOutput(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.keepsBytes = false
                client.onConnected = { $0.write([UInt8](repeating: 7, count: 16_000_000)) }
                server.onConnected = { $0.pauseReading() }
            }
            try await loop.wait(for: "a full buffer") { (pair.value.client.stream?.pendingOutputBytes ?? 0) > 0 }
            let writtenAt = LoopInstant.current
            try await loop.run { pair.value.client.stream?.staleness = .milliseconds(50) }
            try await loop.wait(for: "the output to grow old") { loop.now - writtenAt > .milliseconds(100) }
            try await loop.run { pair.value.server.stream?.resumeReading() }
            try await loop.wait(for: "the end") { pair.value.client.isClosed && pair.value.server.isClosed }
            try await loop.run {
                #expect("\(String(describing: pair.value.client.closeError))".contains("stood still"))
                #expect(pair.value.server.receivedCount < 16_000_000)
            }
        }
    }

    @Test("What is written before the connection stands arrives", arguments: StreamKind.allCases)
    func earlyWrite(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind)
            try await loop.run {
                pair.value.client.stream?.write(Array("early ".utf8))
                pair.value.client.stream?.write(Array("bird".utf8))
            }
            try await loop.wait(for: "the bytes") { pair.value.server.received == Array("early bird".utf8) }
        }
    }

    @Test(
        "A handler may close its stream in any call, and hears only the end after that",
        arguments: StreamKind.allCases
    )
    func closeInside(kind: StreamKind) async throws {
        for place in ["connected", "received", "drained"] {
            try await withLoop { loop in
                let pair = try await loop.pair(kind) { client, server in
                    let close: (ByteStream) -> Void = { stream in
                        stream.close()
                        #expect(!client.isClosed, "the end is told from within close()")
                        stream.write([1])
                        stream.close()
                        stream.closeAfterFlush(deadline: .seconds(1))
                    }
                    server.onConnected = { $0.write([UInt8](repeating: 1, count: 1_000_000)) }
                    client.onConnected = { stream in
                        if place == "connected" { return close(stream) }
                        stream.write([UInt8](repeating: 2, count: 1_000_000))
                    }
                    client.onReceived = { stream, _ in if place == "received" { close(stream) } }
                    client.onDrained = { stream in if place == "drained" { close(stream) } }
                }
                try await loop.wait(for: "both ends") { pair.value.client.isClosed && pair.value.server.isClosed }
                try await loop.run {
                    let client = pair.value.client
                    #expect(client.closeCount == 1 && client.callsAfterClosed == 0 && client.closeError == nil)
                    #expect(pair.value.server.closeCount == 1 && pair.value.server.callsAfterClosed == 0)
                    #expect(client.stream?.pendingOutputBytes == 0)
                }
            }
        }
    }

    @Test("A handler may hand the stream to another one within a call", arguments: StreamKind.allCases)
    func replaceHandler(kind: StreamKind) async throws {
        try await withLoop { loop in
            let second = LoopConfined(StreamProbe(), on: loop)
            let pair = try await loop.pair(kind) { client, server in
                server.onReceived = { stream, bytes in
                    stream.handler = second.value
                    stream.write(bytes)
                }
                client.onConnected = { $0.write([1, 2, 3]) }
                var rounds = 0
                client.onReceived = { stream, _ in
                    rounds += 1
                    if rounds == 1 { stream.write([4]) } else { stream.close() }
                }
                second.value.onReceived = { stream, bytes in stream.write(bytes) }
            }
            try await loop.wait(for: "the end") { second.value.isClosed && pair.value.client.isClosed }
            try await loop.run {
                #expect(pair.value.server.received == [1, 2, 3])
                #expect(!pair.value.server.isClosed)
                #expect(second.value.received == [4])
                #expect(second.value.closeError == nil)
            }
        }
    }

    @Test("closeAfterFlush sends everything first, and reading meanwhile loses nothing", arguments: StreamKind.allCases)
    func closeAfterFlush(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.keepsBytes = false
                server.onConnected = { $0.write([UInt8](repeating: 1, count: 3_000_000)) }
                client.onConnected = { stream in
                    stream.write([UInt8](repeating: 2, count: 3_000_000))
                    stream.closeAfterFlush(deadline: .seconds(20))
                }
            }
            try await loop.wait(for: "the end") { pair.value.client.isClosed && pair.value.server.isClosed }
            try await loop.run { #expect(pair.value.server.receivedCount == 3_000_000) }
            try await expectOrderlyEnd(pair, on: loop)
        }
    }

    @Test("closeAfterFlush ends at its deadline if the peer never ends", arguments: StreamKind.allCases)
    func closeDeadline(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.onConnected = { $0.pauseReading() }
                client.onConnected = { $0.closeAfterFlush(deadline: .milliseconds(50)) }
            }
            try await loop.wait(for: "the deadline") { pair.value.client.isClosed }
            try await loop.run {
                guard case .deadline = pair.value.client.closeError else {
                    Issue.record("ended with \(String(describing: pair.value.client.closeError))")
                    return
                }
            }
        }
    }

    @Test("Bytes before the peer's end are delivered, also after a pause", arguments: StreamKind.allCases)
    func endWhilePaused(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.onConnected = { $0.pauseReading() }
                client.onConnected = { stream in
                    stream.write([UInt8](repeating: 3, count: 100_000))
                    stream.closeAfterFlush(deadline: .seconds(20))
                }
            }
            try await loop.wait(for: "the client's last byte") {
                pair.value.server.isConnected && pair.value.client.stream?.pendingOutputBytes == 0
            }
            try await loop.run {
                #expect(pair.value.server.receivedCount == 0 && !pair.value.server.isClosed)
                pair.value.server.stream?.resumeReading()
            }
            try await expectOrderlyEnd(pair, on: loop)
            try await loop.run { #expect(pair.value.server.receivedCount == 100_000) }
        }
    }

    @Test(
        "A peer that is gone does not wake a paused stream, which still reads what it sent",
        arguments: [StreamKind.tcp, .unix]
    )
    func goneWhilePaused(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.onConnected = { $0.pauseReading() }
                client.onConnected = { stream in
                    stream.write([UInt8](repeating: 3, count: 100_000))
                    stream.closeAfterFlush(deadline: .milliseconds(20))
                }
            }
            try await loop.wait(for: "the client's end") { pair.value.server.isConnected && pair.value.client.isClosed }
            try await loop.run {
                #expect(pair.value.server.receivedCount == 0 && !pair.value.server.isClosed)
                pair.value.server.stream?.resumeReading()
            }
            try await loop.wait(for: "the server's end") { pair.value.server.isClosed }
            try await loop.run {
                #expect(pair.value.server.receivedCount == 100_000)
                #expect(pair.value.server.closeError == nil)
            }
        }
    }

    @Test(
        "What the peer sent before it was gone is heard, although writing to it fails first",
        arguments: StreamKind.allCases
    )
    func inputBeforeFailure(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { _, _ in }
            try await loop.wait(for: "the connection") {
                pair.value.server.isConnected && pair.value.client.isConnected
            }
            try await loop.run {
                // So much is sent at once, so that all of this happens before the client can read.
                pair.value.server.stream?.write([UInt8](repeating: 4, count: 140_000))
                pair.value.server.stream?.abort()
                pair.value.client.stream?.write([1])
            }
            try await loop.wait(for: "the end") { pair.value.client.isClosed }
            try await loop.run {
                // The rest was still ours when the connection ended.
                #expect(pair.value.client.receivedCount > 100_000)
                #expect(pair.value.client.callsAfterClosed == 0)
            }
        }
    }

    @Test("A connection that the peer resets ends with an error")
    func reset() async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(.tcp) { client, server in
                client.onConnected = { $0.write([UInt8](repeating: 1, count: 20_000_000)) }
                server.onConnected = { $0.pauseReading() }
            }
            try await loop.wait(for: "the connection") { pair.value.server.isConnected }
            // Closing with unread input makes the system reset the connection.
            try await loop.wait(for: "input that is not read") { pair.value.client.stream?.pendingOutputBytes != 0 }
            try await loop.run { pair.value.server.stream?.close() }
            try await loop.wait(for: "the reset") { pair.value.client.isClosed }
            try await loop.run {
                guard case .connection = pair.value.client.closeError else {
                    Issue.record("ended with \(String(describing: pair.value.client.closeError))")
                    return
                }
                #expect(pair.value.server.closeError == nil)
            }
        }
    }

    @Test("Input that comes in one piece with the end is delivered first", arguments: StreamKind.allCases)
    func dataThenEnd(kind: StreamKind) async throws {
        try await withLoop { loop in
            let pair = try await loop.pair(kind) { client, server in
                server.onConnected = { stream in
                    stream.write(Array("bye".utf8))
                    stream.closeAfterFlush(deadline: .seconds(20))
                }
            }
            try await loop.wait(for: "the end") { pair.value.client.isClosed }
            try await loop.run { #expect(pair.value.client.received == Array("bye".utf8)) }
            try await expectOrderlyEnd(pair, on: loop)
        }
    }

    private func expectOrderlyEnd(_ pair: LoopConfined<StreamPair>, on loop: EventLoop) async throws {
        try await loop.wait(for: "the end") { pair.value.client.isClosed && pair.value.server.isClosed }
        try await loop.run {
            for probe in [pair.value.client, pair.value.server] {
                #expect(probe.closeError == nil)
                #expect(probe.closeCount == 1)
                #expect(probe.callsAfterClosed == 0)
                #expect(probe.events.first == .connected)
            }
        }
    }
}
