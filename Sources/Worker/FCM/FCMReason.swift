/// An error word in FCM's answers, from `FcmError` or `google.rpc.Status`; any other is kept as it came.
///
/// Google: Firebase Cloud Messaging, REST reference, ErrorCode; Google APIs, `google.rpc.Code`.
package struct FCMReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    package static let aborted = FCMReason("ABORTED")
    package static let cancelled = FCMReason("CANCELLED")
    package static let deadlineExceeded = FCMReason("DEADLINE_EXCEEDED")
    package static let `internal` = FCMReason("INTERNAL")
    package static let invalidArgument = FCMReason("INVALID_ARGUMENT")
    package static let notFound = FCMReason("NOT_FOUND")
    package static let permissionDenied = FCMReason("PERMISSION_DENIED")
    package static let quotaExceeded = FCMReason("QUOTA_EXCEEDED")
    package static let resourceExhausted = FCMReason("RESOURCE_EXHAUSTED")
    package static let senderIDMismatch = FCMReason("SENDER_ID_MISMATCH")
    package static let thirdPartyAuthError = FCMReason("THIRD_PARTY_AUTH_ERROR")
    package static let unauthenticated = FCMReason("UNAUTHENTICATED")
    package static let unavailable = FCMReason("UNAVAILABLE")
    package static let unimplemented = FCMReason("UNIMPLEMENTED")
    package static let unregistered = FCMReason("UNREGISTERED")
    package static let unspecifiedError = FCMReason("UNSPECIFIED_ERROR")
}
