import TestSupport
import Testing
import Transport

@testable import Worker

@Suite("The tables of answers")
struct AnswerTableTests {
    private static let rows = APNsReason.table + FCMReason.errorCodes + FCMReason.statuses

    @Test("Every word of Apple's page is there, and nothing twice")
    func apnsWords() {
        let words = APNsReason.table.map(\.word)
        #expect(Set(words).count == words.count)
        // Apple: Handling notification responses from APNs, and the spelling that is on the wire.
        let apple: Set = [
            "BadCollapseId", "BadDeviceToken", "BadExpirationDate", "BadMessageId", "BadPriority", "BadTopic",
            "DeviceTokenNotForTopic", "DuplicateHeaders", "IdleTimeout", "InvalidPushType", "MissingDeviceToken",
            "MissingTopic", "PayloadEmpty", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment",
            "ExpiredProviderToken", "Forbidden", "InvalidProviderToken", "MissingProviderToken",
            "UnrelatedKeyIdInToken", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken", "BadPath",
            "MethodNotAllowed", "ExpiredToken", "Unregistered", "PayloadTooLarge", "TooManyProviderTokenUpdates",
            "TooManyRequests", "InternalServerError", "ServiceUnavailable", "Shutdown",
        ]
        #expect(Set(words) == apple)
    }

    @Test("Each sentence of advice is one, without a full stop")
    func advice() {
        for row in Self.rows {
            #expect((10...220).contains(row.advice.count), "\(row.word)")
            #expect(!row.advice.hasSuffix(".") && !row.advice.contains("|"), "\(row.word)")
        }
        #expect(Gateway.apns.advice(on: "BrandNew") == nil)
        #expect(Gateway.fcm.advice(on: "HTTP 502") == nil)
    }

    @Test("docs/answers.md has the program's tables; made anew with ANSWERS_DOCUMENT=1")
    func document() throws {
        let path = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined() + "/docs/answers.md"
        let text = String(decoding: try File.read(path), as: UTF8.self)
        let parts = text.split(separator: AnswerDocument.begin, maxSplits: 1)
        try #require(parts.count == 2)
        let expected = "\(parts[0])\(AnswerDocument.begin)\n\n\(AnswerDocument.text)\n\(AnswerDocument.end)\n"
        if ProcessEnvironment.current["ANSWERS_DOCUMENT"] != nil {
            try File.write(Array(expected.utf8), to: path)
        } else {
            #expect(text == expected)
        }
    }
}
