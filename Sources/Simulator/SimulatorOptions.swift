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
    /// Only pushes to tokens that begin so are kept; nil: all.
    package var recordedDevices: String?
    /// Answers a second that all stand-ins together give at most; nil: as many as there are requests.
    package var answersPerSecond: Int?
    /// How far away the stand-ins are: all that they write, answers and credit alike, is held back so long.
    package var distance: Duration = .zero
    /// The window of connections and streams in bytes; nil: 65,535 as seen from APNs, or one that never fills if lean.
    package var windowBytes: Int?
    /// The streams of a connection; nil: as the provider has it, or 1000 if lean.
    package var streamLimit: Int?
    /// Whether the stand-ins for APNs refuse connections without a certificate; those that come are always verified.
    package var demandsCertificate = false
    package var script = Script()
    package var conduct = Conduct()
    /// Whether pushes to APNs are counted by their names, for `GET /tally`.
    package var isTallied = false
    /// What is wrong with its certificate.
    package var certificateFault: CertificateFault?

    package enum CertificateFault: String, CaseIterable, Sendable {
        /// It is for another host.
        case host
        case expired
        /// Its authority is not the one in `ca.pem`.
        case authority
    }

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
