/// Apple's two worlds of devices: each has its own host, and tokens of its own.
package enum APNsEnvironment: String, Hashable, Sendable, CaseIterable {
    case development
    case production
}
