/// THE place where keys in Redis get their names; all begin with the prefix.
///
/// What stands in braces decides on the slot in a cluster: a channel's sets share one, and so do the queue's keys.
package struct RedisKeys: Sendable {
    private let prefix: [UInt8]

    package init(prefix: String) {
        self.prefix = Array(prefix.utf8)
    }

    // MARK: Registrations

    /// The set of a channel's device tokens of one kind.
    package func registrations(channel: [UInt8], kind: RegistrationKind) -> [UInt8] {
        prefix + [UInt8(ascii: "{")] + channel + [UInt8(ascii: "}")] + kind.keySuffix
    }

    /// The sorted set of a device's channels of one kind; score: unix milliseconds of the last registration.
    ///
    /// `token` as it is sent: an APNs token in lower case.
    package func device(token: [UInt8], kind: RegistrationKind) -> [UInt8] {
        prefix + Array("device:{".utf8) + token + [UInt8(ascii: "}")] + kind.keySuffix
    }

    /// What all keys of a device begin with, for finding its kinds.
    package func devicePrefix(token: [UInt8]) -> [UInt8] {
        prefix + Array("device:{".utf8) + token + Array("}:".utf8)
    }

    // MARK: Removed registrations

    /// The stream of removed registrations that may come back.
    package var quarantine: [UInt8] { prefix + Array("{events}:quarantine".utf8) }
    /// The stream that tells apps of removed registrations.
    package var removedEvents: [UInt8] { prefix + Array("{events}:removed".utf8) }

    // MARK: Queue

    /// The stream that messages wait in: the inbox.
    package var messages: [UInt8] { queue("messages") }
    /// The workers' control channel.
    package var marks: [UInt8] { queue("marks") }
    /// The hash by which workers agree on what of pub/sub is written.
    package var ingest: [UInt8] { queue("ingest") }
    /// The stream of parts of messages: of big fan-outs, and retries that are due.
    package var batches: [UInt8] { queue("batches") }
    /// The sorted set of retries that wait; score: unix milliseconds.
    package var delayed: [UInt8] { queue("delayed") }
    /// The stream of dead letters.
    package var dead: [UInt8] { queue("dead") }

    /// The hash of a message that has parts: how many are unfinished, and what came of the others.
    package func run(of messageID: [UInt8]) -> [UInt8] { queue("run:", messageID) }

    /// The outcomes of an unfinished entry's pushes.
    package func outcomes(of entryID: [UInt8], in stream: EntryStream.Kind) -> [UInt8] {
        queue(stream == .messages ? "done:" : "done:batch:", entryID)
    }

    /// What a message's walk over a target's set has met: hashes of tokens.
    package func walk(of messageID: [UInt8], target: Int) -> [UInt8] {
        walks(of: messageID) + Array("\(target)".utf8)
    }

    /// What the keys of all walks of a message begin with; the target's number follows.
    package func walks(of messageID: [UInt8]) -> [UInt8] { queue("walk:", messageID + Array(":".utf8)) }

    private func queue(_ name: String, _ rest: [UInt8] = []) -> [UInt8] {
        prefix + Array("{queue}:\(name)".utf8) + rest
    }
}
