import Encoding
import Transport

/// The look at every message that is heard, whether it asks for pushes.
package enum PushKeyFilter {
    package enum Finding: Equatable, Sendable {
        /// Not for us: no JSON object, or one without a push key at its root.
        case none
        /// An object with `pn_apns`, `pn_fcm` or `pn_gcm` at its root.
        case push
        /// Not JSON, but it carries a push key; `debug`: it can still be seen that traces were asked for.
        case invalid(debug: Bool)
    }

    /// What a message is.
    ///
    /// Allocates nothing for a message without any trace of a push key.
    package static func inspect(_ message: RawSpan) -> Finding {
        guard JSONKeySearch.mayNamePushKey(message) else { return .none }
        do throws(JSONError) {
            let tape = try JSONTape(message)
            return ["pn_apns", "pn_fcm", "pn_gcm"].contains { tape.hasMember($0, in: message) } ? .push : .none
        } catch {
            let broken = BrokenMessage(message.copiedBytes)
            return broken.carriesPushKey ? .invalid(debug: broken.asksForTraces) : .none
        }
    }
}
