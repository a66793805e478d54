import Encoding

/// Checks an FCM request as Google does, and answers in Google's words.
///
/// A pure function of the request and of the access tokens that the token endpoint has given out.
package struct FCMCheck: Sendable {
    /// Of what a device receives (Google: FCM, message size).
    package static let maximumPayloadBytes = 4096

    private let projectID: String

    package init(projectID: String) {
        self.projectID = projectID
    }

    /// The reason why a request is refused; nil when it is accepted.
    package func refusal(of request: ReceivedRequest, isAccessToken: (String) -> Bool) -> FCMRefusal? {
        guard request.path == "/v1/projects/\(projectID)/messages:send", request.method == "POST" else {
            return FCMRefusal(404, "NOT_FOUND", message: "Requested entity was not found.")
        }
        let authorization = request.header("authorization") ?? ""
        guard authorization.hasPrefix("Bearer "), isAccessToken(String(authorization.dropFirst("Bearer ".count))) else {
            return FCMRefusal(
                401,
                "UNAUTHENTICATED",
                message: "Request had invalid authentication credentials. Expected OAuth 2 access token."
            )
        }
        guard let document = try? JSONDocument(request.body), document.root.isObject else {
            return Self.invalid(FCMViolation(field: "", description: "Invalid JSON payload received."))
        }
        return Self.message(document.root)
    }

    /// The device token of a request; nil when it has none.
    package static func deviceToken(in body: [UInt8]) -> String? {
        guard let document = try? JSONDocument(body) else { return nil }
        return document.root["message"]?["token"]?.string
    }

    private static func message(_ root: JSONValue) -> FCMRefusal? {
        if let violation = FCMShape.request.violation(in: root, at: "") { return invalid(violation) }
        guard let message = root["message"] else {
            return invalid(FCMViolation(field: "message", description: "Message is required."))
        }
        let targets = message.members.filter { ["token", "topic", "condition", "fid"].contains($0.key.string ?? "") }
            .count
        guard targets == 1, let token = message["token"]?.string, !token.isEmpty else {
            return invalid(FCMViolation(field: "message", description: "Exactly one target is required."))
        }
        if let violation = dataViolation(message) { return invalid(violation) }
        guard payloadBytes(message) <= maximumPayloadBytes else {
            return invalid(FCMViolation(field: "message", description: "Message is too big."))
        }
        return nil
    }

    /// Keys that are Google's own (Google: FCM, `data`).
    private static func dataViolation(_ message: JSONValue) -> FCMViolation? {
        for (path, data) in [("message.data", message["data"]), ("message.android.data", message["android"]?["data"])] {
            guard let data, data.isObject else { continue }
            for member in data.members {
                let key = member.key.string ?? ""
                guard ["from", "message_type"].contains(key) || key.hasPrefix("google") || key.hasPrefix("gcm") else {
                    continue
                }
                return FCMViolation(field: path, description: "Invalid data payload key: \(key)")
            }
        }
        return nil
    }

    private static func payloadBytes(_ message: JSONValue) -> Int {
        [message["data"], message["notification"]].compactMap(\.self).reduce(0) { sum, part in
            part.members.reduce(sum) {
                $0 + ($1.key.stringBytes?.count ?? 0) + ($1.value.stringBytes?.count ?? $1.value.text.count)
            }
        }
    }

    private static func invalid(_ violation: FCMViolation) -> FCMRefusal {
        FCMRefusal(
            400,
            "INVALID_ARGUMENT",
            errorCode: violation.field.isEmpty ? nil : "INVALID_ARGUMENT",
            message: violation.description,
            violations: [violation]
        )
    }
}
