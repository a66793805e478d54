extension FCMReason {
    /// THE table of FCM's answers by the error code of `FcmError`.
    ///
    /// `UNSPECIFIED_ERROR` says nothing and is not here. Google: Firebase Cloud Messaging, ErrorCode.
    package static let errorCodes: [AnswerRow] = [
        row(404, .unregistered, .gone, "nothing: the app was removed from the device, or has a newer token"),
        row(400, .invalidArgument, .invalidArgument, invalidArgumentAdvice),
        row(
            403,
            .senderIDMismatch,
            .failed(.push),
            "the token belongs to another Firebase project: use the service account of the app's own project"
        ),
        row(
            401,
            .thirdPartyAuthError,
            .failed(.configuration),
            "the APNs key or web push key in the Firebase console is missing or wrong: put it in there"
        ),
        row(429, .quotaExceeded, .quota, quotaAdvice),
        row(503, .unavailable, .retry(.push), "nothing: FCM is overloaded"),
        row(500, .internal, .retry(.push), "nothing: FCM has a fault of its own"),
    ]

    /// THE table of FCM's answers by `error.status`, where no error code decides.
    ///
    /// Google APIs, `google.rpc.Code`.
    package static let statuses: [AnswerRow] = [
        row(400, .invalidArgument, .invalidArgument, invalidArgumentAdvice),
        row(
            401,
            .unauthenticated,
            .credential(.refreshToken),
            "if it comes again, check that the service account and its key were not deleted"
        ),
        row(
            403,
            .permissionDenied,
            .credential(.stop),
            "turn on the Firebase Cloud Messaging API in the project, and give the service account the right "
                + "cloudmessaging.messages.create"
        ),
        row(404, .notFound, .failed(.configuration), "there is no such Firebase project: check the service account"),
        row(409, .aborted, .retry(.push), "nothing: FCM did not finish the request"),
        row(429, .resourceExhausted, .quota, quotaAdvice),
        row(429, .quotaExceeded, .quota, quotaAdvice),
        row(499, .cancelled, .retry(.push), "nothing: FCM did not finish the request"),
        row(500, .internal, .retry(.push), "nothing: FCM has a fault of its own"),
        row(
            501,
            .unimplemented,
            .failed(.request),
            "the request is none that FCM knows: please report this as a defect"
        ),
        row(503, .unavailable, .retry(.push), "nothing: FCM is overloaded"),
        row(504, .deadlineExceeded, .retry(.push), "nothing: FCM was too slow"),
    ]

    private static let invalidArgumentAdvice =
        "look at the message: a field is wrong or too large (4096 bytes); if the token is named, it was no FCM token"
    private static let quotaAdvice =
        "send less to one device, or more slowly to all; the project's quota is in the Google Cloud console"

    private static let codeRows = byWord(errorCodes)
    private static let statusRows = byWord(statuses)

    /// The row that decides: by the error code, then by the status word.
    static func row(code: String?, status: String?) -> AnswerRow? {
        code.flatMap { codeRows[$0] } ?? status.flatMap { statusRows[$0] }
    }

    private static func byWord(_ rows: [AnswerRow]) -> [String: AnswerRow] {
        Dictionary(rows.map { ($0.word, $0) }) { first, _ in first }
    }

    private static func row(
        _ status: Int,
        _ reason: FCMReason,
        _ meaning: AnswerMeaning,
        _ advice: String
    ) -> AnswerRow {
        AnswerRow(status, reason.rawValue, meaning, advice)
    }
}
