import Encoding
import Transport
import Worker

/// What must hold for everything that providers answer and people paste, whatever its bytes: shared by the tests and
/// the fuzz targets.
///
/// Each gives a sentence on the first thing that is wrong, or nil.
enum ProviderProperties {
    /// Statuses worth trying; the first byte of an input chooses one.
    static let statuses = [200, 400, 401, 403, 404, 405, 408, 410, 413, 429, 500, 502, 503, 302, 0, -1]

    /// An answer never removes a registration unless the provider's word for that is in it.
    static func answer(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let status = statuses[Int(first) % statuses.count]
        let body = Array(bytes.dropFirst())
        let header = String(decoding: body.prefix(40), as: UTF8.self)
        let text = String(decoding: body, as: UTF8.self)
        let apns = APNsAnswer.verdict(
            status: status,
            body: body,
            retryAfter: header,
            date: header,
            suffixAdded: first > 127
        )
        if let problem = bounded(apns) { return problem }
        switch apns {
        case .sent where status != 200: return "sent with another status than 200"
        case .removeDevice where status != 410: return "a device is gone without a 410"
        case .removeDevice(let reason, _) where reason != "Unregistered" && reason != "ExpiredToken":
            return "a device is gone for an unknown reason"
        case .removeDevice(_, let since?) where since <= 0: return "dead before there were phones"
        case .doubtful where status != 400: return "a doubtful token without a 400"
        default: break
        }
        let fcm = FCMAnswer.verdict(status: status, body: body, retryAfter: header, date: header)
        if let problem = bounded(fcm) { return problem }
        switch fcm {
        case .sent where status != 200: return "sent with another status than 200"
        case .removeDevice where (try? JSONDocument(body)) == nil: return "a device is gone by a broken text"
        case .removeDevice(let reason, _) where reason != "UNREGISTERED" && reason != "INVALID_ARGUMENT":
            return "a device is gone for another reason"
        case .doubtful: return "FCM's answers are never doubtful"
        default: break
        }
        if let name = FCMAnswer.name(inBody: body), name.utf8.count > text.utf8.count { return "a name from nowhere" }
        let token = FCMTokenRequest.read(status: status, body: body, date: header, unixSeconds: 1_796_032_800)
        if case .token = token, status != 200 { return "a token with another status than 200" }
        return nil
    }

    /// What people paste is taken or refused with a short sentence.
    static func credential(_ bytes: [UInt8]) -> String? {
        for algorithm in [SigningKey.Algorithm.es256, .rs256] {
            do {
                let key = try SigningKey(bytes, algorithm)
                let again = try SigningKey(key.privatePEM(), algorithm)
                guard try again.publicPEM() == key.publicPEM() else { return "a key does not read back" }
            } catch {
                if "\(error)".utf8.count > 400 { return "a long sentence on a key" }
            }
        }
        do {
            let account = try FCMServiceAccount(json: bytes)
            guard !account.projectID.contains("/") else { return "a project ID that is more than a part of a path" }
        } catch {
            if error.reasons.isEmpty || error.reasons.contains(where: { $0.utf8.count > 600 }) {
                return "a strange refusal"
            }
        }
        guard APNsTopicList.read(bytes).allSatisfy(APNsTopicList.isTopic) else { return "a topic that cannot be one" }
        do {
            _ = try APNsCertificate(bytes, password: nil)
        } catch {
            if error.description.utf8.count > 600 { return "a long sentence on a certificate" }
        }
        if let token = SignedToken(bytes), !token.claims.root.isObject { return "claims that are no object" }
        let text = String(decoding: bytes, as: UTF8.self)
        if let url = ProviderURL(text), ProviderURL(url.description) != url { return "an address does not read back" }
        // Certificates are OpenSSL's to read, after it has read the system's store, which takes long.
        let settings = SettingsTable.all.filter { $0 != .ca }.map { ($0.variable, text) }
        _ = try? Settings(environment: Dictionary(uniqueKeysWithValues: settings)) { _ in
            .failure(.init(reason: "is not there"))
        }
        guard Printable.value(bytes).utf8.count <= 256 else { return "a value is too long" }
        return Printable.escaped(text).unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
            ? nil : "a control character was left"
    }

    /// Reasons go into logs and traces as they are.
    private static func bounded(_ verdict: Verdict) -> String? {
        let reason: String
        switch verdict {
        case .sent: return nil
        case .removeDevice(let word, _), .doubtful(let word), .failed(let word, _), .credential(let word, _),
            .reconnect(let word, _):
            reason = word
        case .retry(let word, let after, _):
            if let after, after < .zero { return "a wait of less than nothing" }
            reason = word
        }
        let isPlain = reason.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        return isPlain && (1...100).contains(reason.utf8.count) ? nil : "a reason that is no word"
    }
}
