// swift-tools-version: 6.3
import PackageDescription

/// The settings of every target: Swift 6 mode, every unsafe expression marked, no warning tolerated.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Debian's C libraries.
///
/// Their module maps name the library to link; `pkg-config` is not used, since
/// hiredis' flags there are refused by the package manager.
let libraries: [Target] = ["CLinux", "CHiredis", "COpenSSL", "CNghttp2", "CCurl", "CMicrohttpd"].map {
    .systemLibrary(name: $0)
}

let parts: [Target] = [
    .target(name: "Transport", dependencies: ["CLinux", "COpenSSL", "CCurl", "CMicrohttpd"], swiftSettings: strict),
    .target(name: "Encoding", dependencies: ["COpenSSL"], swiftSettings: strict),
    .target(name: "Redis", dependencies: ["Transport", "CHiredis"], swiftSettings: strict),
    .target(name: "HTTP2", dependencies: ["Transport", "CNghttp2"], swiftSettings: strict),
    .target(name: "Worker", dependencies: ["Transport", "Encoding", "Redis", "HTTP2"], swiftSettings: strict),
    .target(name: "Gateway", dependencies: ["Transport", "Encoding", "Redis", "Worker"], swiftSettings: strict),
    .target(name: "Simulator", dependencies: ["Transport", "Encoding", "HTTP2"], swiftSettings: strict),
    .executableTarget(
        name: "pushbridge",
        dependencies: ["Worker", "Gateway", "Simulator", "Transport", "Encoding", "Redis", "HTTP2"],
        swiftSettings: strict
    ),
    .executableTarget(
        name: "bench",
        dependencies: ["Worker", "Simulator", "Transport", "Encoding", "Redis", "HTTP2"],
        swiftSettings: strict
    ),
]

let tests: [Target] = [
    .target(
        name: "TestSupport",
        dependencies: ["Transport", "Encoding", "Redis"],
        path: "Tests/TestSupport",
        swiftSettings: strict
    ),
    .testTarget(name: "TransportTests", dependencies: ["Transport", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "EncodingTests", dependencies: ["Encoding", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "RedisTests", dependencies: ["Redis", "Transport", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "HTTP2Tests", dependencies: ["HTTP2", "Transport", "TestSupport"], swiftSettings: strict),
    .testTarget(
        name: "WorkerTests",
        dependencies: ["Worker", "Encoding", "Redis", "Transport", "HTTP2", "TestSupport"],
        swiftSettings: strict
    ),
    .testTarget(
        name: "GatewayTests",
        dependencies: ["Gateway", "Worker", "Encoding", "Redis", "Transport", "TestSupport"],
        swiftSettings: strict
    ),
    .testTarget(
        name: "SimulatorTests",
        dependencies: ["Simulator", "HTTP2", "Transport", "Encoding", "TestSupport"],
        swiftSettings: strict
    ),
    .testTarget(
        name: "CommandTests",
        dependencies: ["pushbridge", "Worker", "Encoding", "Redis", "Transport", "TestSupport"],
        swiftSettings: strict
    ),
    .testTarget(
        name: "IntegrationTests",
        dependencies: ["Worker", "Simulator", "Transport", "Encoding", "Redis", "HTTP2", "TestSupport"],
        swiftSettings: strict
    ),
]

let package = Package(name: "pushbridge", targets: libraries + parts + tests)
