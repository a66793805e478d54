/// A provider of pushes.
package enum Gateway: String, Hashable, Sendable, CaseIterable {
    case apns
    case fcm
}
