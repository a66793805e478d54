import Encoding

/// What APNs' answers mean: the table ``APNsReason/rows`` by reason, and the status alone for what is not in it.
///
/// Pure. From Apple's "Handling notification responses from APNs".
package enum APNsAnswer {
    /// The meaning of an answer.
    ///
    /// `body` may be anything: empty, HTML of a proxy, cut off. `retryAfter` and `date` are the headers of these names.
    /// With `suffixAdded` the topic on the wire is not the one as written.
    package static func verdict(
        status: Int,
        body: [UInt8],
        retryAfter: String? = nil,
        date: String? = nil,
        suffixAdded: Bool
    ) -> Verdict {
        if status == 200 { return .sent }
        let answer = read(body)
        let reason = ProviderAnswer.reason(answer.word, status: status)
        switch known(reason, status: status) ?? meaning(ofStatus: status) {
        case .gone: return .removeDevice(reason: reason, deadSince: answer.timestamp)
        case .doubtful: return .doubtful(reason: reason)
        case .doubtfulTopic: return suffixAdded ? .failed(reason: reason, fault: .push) : .doubtful(reason: reason)
        case .failed(let fault): return .failed(reason: reason, fault: fault)
        case .reconnect(let otherwise): return .reconnect(reason: reason, otherwise: otherwise)
        case .credential(let action): return .credential(reason: reason, action: action)
        case .retry(let scope):
            return .retry(reason: reason, after: RetryAfter.delay(retryAfter, date: date), scope: scope)
        // FCM's.
        case .invalidArgument, .quota: return .failed(reason: reason, fault: .push)
        }
    }

    /// Why a connection ends, if its GOAWAY says that the credential is refused.
    package static func refusal(inGoAway debugData: [UInt8]) -> String? {
        guard let word = read(debugData).word, let row = APNsReason.rows[APNsReason(rawValue: word)],
            row.meaning == .credential(.stop)
        else { return nil }
        return word
    }

    /// The meaning of a reason in the table.
    ///
    /// What speaks of the device counts only under its own status; the others have their meaning whatever the status.
    private static func known(_ word: String, status: Int) -> AnswerMeaning? {
        guard let row = APNsReason.rows[APNsReason(rawValue: word)] else { return nil }
        switch row.meaning {
        case .gone, .doubtful, .doubtfulTopic: return row.status == status ? row.meaning : nil
        default: return row.meaning
        }
    }

    /// The meaning of a status whose reason is not known: never the end of a device.
    package static func meaning(ofStatus status: Int) -> AnswerMeaning {
        switch status {
        case 401: .credential(.stop)
        case 403: .failed(.configuration)
        case 408: .retry(.push)
        case 429: .retry(.device)
        case 500...599: .retry(.push)
        default: .failed(.push)
        }
    }

    /// The reason, and the moment since which a token is dead, in unix milliseconds.
    private static func read(_ body: [UInt8]) -> (word: String?, timestamp: Int64?) {
        guard !body.isEmpty, body.count <= ProviderAnswer.maximumBodyBytes, let document = try? JSONDocument(body)
        else {
            return (nil, nil)
        }
        let timestamp = document.root["timestamp"]
        let milliseconds = timestamp?.integer ?? timestamp?.double.flatMap { Int64(exactly: $0.rounded()) }
        return (document.root["reason"]?.string, milliseconds.flatMap { $0 > 0 ? $0 : nil })
    }
}
