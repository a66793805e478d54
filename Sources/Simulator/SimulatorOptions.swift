/// How a simulator behaves.
package struct SimulatorOptions: Sendable {
    /// The name that clients use: in its URLs and in its certificate, which also names the loopback addresses.
    package var host = "localhost"
    /// Where it listens: the loopback address, or all addresses when `host` is another name.
    package var address: String { host == "localhost" ? "127.0.0.1" : "0.0.0.0" }
    /// Answers everything at once with as little work as possible: no checks, no script.
    package var isLean = false
    /// Keeps what was received; always so unless lean.
    package var isRecording = true
    /// How long each answer takes.
    package var answerDelay: Duration = .zero
    package var script = Script()
    package var ports = Ports()

    /// The ports to listen on; 0 is any free one.
    package struct Ports: Sendable {
        package var apnsProduction: UInt16 = 0
        package var apnsDevelopment: UInt16 = 0
        package var fcm: UInt16 = 0
        package var token: UInt16 = 0
        package var control: UInt16 = 0

        package init() {}
    }

    package init() {}
}
