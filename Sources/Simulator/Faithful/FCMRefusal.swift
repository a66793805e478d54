import Encoding

/// Why FCM refuses a request: HTTP status, `status`, FCM's `errorCode`, and details (Google: FCM error codes).
package struct FCMRefusal: Equatable, Sendable {
    package let httpStatus: Int
    /// `google.rpc.Code` by name.
    package let status: String
    /// In an `FcmError` detail; nil for answers that come before FCM itself.
    package let errorCode: String?
    package let message: String
    package let violations: [FCMViolation]
    /// Further details: JSON elements with commas between.
    package let otherDetails: [UInt8]

    package init(
        _ httpStatus: Int,
        _ status: String,
        errorCode: String? = nil,
        message: String,
        violations: [FCMViolation] = [],
        otherDetails: [UInt8] = []
    ) {
        self.otherDetails = otherDetails
        self.httpStatus = httpStatus
        self.status = status
        self.errorCode = errorCode
        self.message = message
        self.violations = violations
    }

    /// The answer's JSON.
    package var body: [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.key("error")
        json.beginObject()
        json.key("code")
        json.integer(httpStatus)
        json.key("message")
        json.string(message)
        json.key("status")
        json.string(status)
        writeDetails(&json)
        json.endObject()
        json.endObject()
        return json.bytes
    }

    private func writeDetails(_ json: inout JSONWriter) {
        guard errorCode != nil || !violations.isEmpty || !otherDetails.isEmpty else { return }
        json.key("details")
        json.beginArray()
        if let errorCode {
            json.beginObject()
            json.key("@type")
            json.string("type.googleapis.com/google.firebase.fcm.v1.FcmError")
            json.key("errorCode")
            json.string(errorCode)
            json.endObject()
        }
        if !violations.isEmpty { writeViolations(&json) }
        if !otherDetails.isEmpty { json.raw(otherDetails) }
        json.endArray()
    }

    private func writeViolations(_ json: inout JSONWriter) {
        json.beginObject()
        json.key("@type")
        json.string("type.googleapis.com/google.rpc.BadRequest")
        json.key("fieldViolations")
        json.beginArray()
        for violation in violations {
            json.beginObject()
            json.key("field")
            json.string(violation.field)
            json.key("description")
            json.string(violation.description)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
