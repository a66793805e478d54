import Glibc
import TestSupport
import Testing

@testable import Transport

@Suite("Addresses of a host", .timeLimit(.minutes(1)))
struct AddressTests {
    private func address(_ host: String, _ port: UInt16) throws -> SocketAddress {
        try #require(try Resolver.lookUp(host: host, port: port, flags: AI_NUMERICHOST).first)
    }

    /// How long a connector takes over these addresses, and what was wrong.
    private func connect(
        _ addresses: [SocketAddress],
        deadline: Duration = .seconds(10),
        on loop: EventLoop
    ) async throws -> (error: TransportError?, time: Duration) {
        let results = Recorder<TransportError?>(on: loop)
        let connector = try await loop.run {
            let endpoint = Endpoint.tcp(host: "several.example", port: 1)
            let connector = Connector(endpoint: endpoint, deadline: deadline, on: loop) { result in
                switch result {
                case .success(let number):
                    _ = Descriptor(number)
                    results.record(nil)
                case .failure(let error): results.record(error)
                }
            }
            return LoopConfined(connector, on: loop)
        }
        let start = try await loop.run {
            connector.value.begin(addresses)
            return loop.now
        }
        let error = try await results.find { $0.first }
        return (error, LoopInstant.current - start)
    }

    @Test("A silent address costs a moment, a refusing one nothing, and the first that answers is taken")
    func deadAddresses() async throws {
        try await withLoop { loop in
            let silent = try SilentPort()
            let listener = try await loop.run {
                LoopConfined(try Listener(.tcp(host: "127.0.0.1", port: 0), on: loop) { _ in StreamProbe() }, on: loop)
            }
            let port = try await loop.run { listener.value.port }
            let dead = try address("127.0.0.1", silent.port)
            let good = try address("127.0.0.1", port)
            let refusing = try address("127.0.0.1", 1)

            let afterSilent = try await connect([dead, dead, good], on: loop)
            #expect(afterSilent.error == nil)
            #expect(afterSilent.time >= .milliseconds(500) && afterSilent.time < .seconds(5))

            let afterRefusal = try await connect([refusing, refusing, good, dead], on: loop)
            #expect(afterRefusal.error == nil)

            // However many there are, all have their turn within half of the deadline.
            let many = try await connect(Array(repeating: dead, count: 20) + [good], deadline: .seconds(2), on: loop)
            #expect(many.error == nil)
            #expect(many.time < .seconds(2))
            try await loop.run { listener.value.close() }
        }
    }

    @Test("If no address answers the last reason is told")
    func noAddress() async throws {
        try await withLoop { loop in
            let refusing = try address("127.0.0.1", 1)
            let endpoint = Endpoint.tcp(host: "several.example", port: 1)
            let outcome = try await connect([refusing, refusing], on: loop)
            #expect(outcome.error == .connect(endpoint: endpoint, reason: "Connection refused"))
        }
    }

    @Test("The two families are tried by turns, the preferred one first")
    func families() throws {
        let addresses = try ["::2", "::3", "::4", "10.0.0.1", "10.0.0.2"].map { try address($0, 1) }
        let ordered = Connector.alternating(addresses).map { $0.family == AF_INET6 }
        #expect(ordered == [true, false, true, false, true])
        #expect(Connector.alternating([]).isEmpty)
        #expect(Connector.alternating(Array(addresses[3...])).count == 2)
    }
}
