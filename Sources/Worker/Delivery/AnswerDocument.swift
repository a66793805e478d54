/// The tables of answers as Markdown, for `docs/answers.md`; a test compares them with that file.
package enum AnswerDocument {
    package static let begin = "<!-- answers: made from the program's tables -->"
    package static let end = "<!-- end of answers -->"

    /// All three tables with their headings.
    package static var text: String {
        table("APNs, by `reason`", .apns, APNsReason.table)
            + table("FCM, by the `errorCode` of `FcmError`", .fcm, FCMReason.errorCodes)
            + table("FCM, by `error.status` where no error code decides", .fcm, FCMReason.statuses)
            + statusTable
    }

    private static let head = """
        | status | word | push | registration | credential | connection | again | what to do |
        | --- | --- | --- | --- | --- | --- | --- | --- |

        """

    private static func table(_ title: String, _ gateway: Gateway, _ rows: [AnswerRow]) -> String {
        let lines = rows.map { row in
            let cells = ["\(row.status)", "`\(row.word)`"] + cells(row.meaning, gateway, status: row.status)
            return "| \((cells + [row.advice]).joined(separator: " | ")) |\n"
        }
        return "## \(title)\n\n\(head)\(lines.joined())\n"
    }

    private static var statusTable: String {
        let lines = [401, 403, 408, 410, 429, 500, 502, 418].flatMap { status in
            [
                ("APNs", Gateway.apns, APNsAnswer.meaning(ofStatus: status)),
                ("FCM", .fcm, FCMAnswer.meaning(ofStatus: status)),
            ].map { name, gateway, meaning in
                let label = status == 418 ? "any other" : status == 502 ? "other 5xx" : "\(status)"
                return "| \(label) | \(name) | \(cells(meaning, gateway, status: status).joined(separator: " | ")) |\n"
            }
        }
        return """
            ## Anything else, by the status

            | status | gateway | push | registration | credential | connection | again |
            | --- | --- | --- | --- | --- | --- | --- |
            \(lines.joined())
            """
    }

    /// What becomes of push, registration, credential, connection, and when it is tried again.
    private static func cells(_ meaning: AnswerMeaning, _ gateway: Gateway, status: Int) -> [String] {
        switch meaning {
        case .gone where gateway == .apns:
            ["removed", "removed if older than the answer's `timestamp`", "good", "stays", "no"]
        case .gone: ["removed", "removed", "good", "stays", "no"]
        case .doubtful:
            ["removed, or errored while the brake holds", "removed behind the brake", "good", "stays", "no"]
        case .doubtfulTopic:
            [
                "removed, or errored while the brake holds", "removed behind the brake, kept if we added a suffix",
                "good", "stays", "no",
            ]
        case .invalidArgument:
            ["removed if the answer names the token, else errored", "removed if named", "good", "stays", "no"]
        case .failed(.push): ["errored", "kept", "good", "stays", "no"]
        case .failed(.configuration): ["errored", "kept", "alarm in the log", "stays", "no"]
        case .failed(.request): ["errored", "kept", "alarm in the log", "stays", "no"]
        case .reconnect(.fail): ["errored", "kept", "alarm in the log", "all replaced once in 10 min", "once, at once"]
        case .reconnect(.stopCredential):
            ["errored", "kept", "refused", "all replaced once in 10 min", "once, at once"]
        case .credential(.stop): ["errored", "kept", "refused", "all replaced when it is stopped", "no"]
        case .credential(.refreshToken):
            [
                "errored if refused again", "kept", "another token; refused if that does not help",
                gateway == .apns ? "all replaced" : "stays", "once, with the new token",
            ]
        case .quota:
            ["waits", "kept", "slowed down if it is the project", "stays", again(gateway, status, .project)]
        case .retry(let scope):
            [
                "waits", "kept", scope == .device ? "good" : "as it was", scope == .connection ? "replaced" : "stays",
                again(gateway, status, scope),
            ]
        }
    }

    private static func again(_ gateway: Gateway, _ status: Int, _ scope: Verdict.RetryScope) -> String {
        switch (gateway, status) {
        case (.apns, 429) where scope == .device: "after 1 to 2 s, doubled each time; all pushes to the device wait"
        case (.apns, 429): "after 1 to 2 s, doubled each time"
        case (.apns, 500...599): "after 1 to 5 s, then every 15 to 18 min"
        case (.fcm, 429): "after `retry-after`, or 60 to 120 s, doubled each time"
        case (.fcm, 500...599): "after 10 to 20 s, doubled each time"
        default: "within 0.5 s, doubled each time up to 60 s"
        }
    }
}
