package import Transport

/// What a subscription tells its owner; all calls on the subscription's loop.
package protocol RedisSubscriptionHandler: AnyObject {
    /// Every pattern and channel is confirmed, for the first time or again; messages come only after this.
    ///
    /// `joined` is the reply to the command that was sent with the subscription, if there was one.
    func subscriptionReady(_ subscription: RedisSubscription, joined: Result<RESPValue, RedisError>?)
    /// A message, once for each publish, whatever the number of names that match. The spans are valid during the call.
    ///
    /// The pattern is nil if the message came by its channel's name.
    func subscription(
        _ subscription: RedisSubscription,
        message payload: RawSpan,
        channel: RawSpan,
        pattern: RawSpan?
    )
    /// It was lost, or an attempt failed; it tries again by itself. Messages published meanwhile are not heard.
    ///
    /// With `authentication` the user or the password is wrong, with the code `NOPERM` a name may not be subscribed
    /// to: trying again is of no use.
    func subscriptionLost(_ subscription: RedisSubscription, error: RedisError)
}

/// A connection that hears messages of patterns and channels.
///
/// Confined to its loop. It comes back by itself, with back-off, and subscribes again. In silence it asks for a sign
/// of life. Must be closed by its owner; until then it lives, and holds its handler.
package final class RedisSubscription: RedisLinkOwner {
    private enum Phase {
        case lost
        /// Waits for the confirmations of so many names.
        case subscribing(missing: Int, since: LoopInstant)
        /// Waits for the reply to EXEC.
        case joining(since: LoopInstant)
        case ready(pingedAt: LoopInstant?)
    }

    private var handler: (any RedisSubscriptionHandler)?
    private let patterns: [[UInt8]]
    private let channels: [[UInt8]]
    private let join: (() -> RedisCommand)?
    private let link: RedisLink
    private var decoder = MessageDecoder()
    private var phase = Phase.lost
    private var groups: DeliveryGroups
    private var joinError: RedisError?

    /// With `join`, that command and the subscription are one transaction: nothing is published between them.
    ///
    /// If the server refuses the transaction (it is out of memory), it subscribes without the command.
    package init(
        _ settings: RedisSettings,
        name: String,
        patterns: [[UInt8]],
        channels: [[UInt8]] = [],
        join: (() -> RedisCommand)? = nil,
        timings: RedisTimings = RedisTimings(),
        on loop: EventLoop,
        handler: any RedisSubscriptionHandler
    ) {
        self.patterns = patterns
        self.channels = channels
        self.join = join
        self.handler = handler
        groups = DeliveryGroups(patterns: patterns, channels: channels)
        link = RedisLink(settings, name: name, timings: timings, on: loop)
        link.owner = self
    }

    /// Begins to connect; once.
    package func start() {
        precondition(!patterns.isEmpty || !channels.isEmpty, "a subscription needs a name")
        link.start()
    }

    /// Ends it for good; the handler hears nothing more.
    package func close() {
        phase = .lost
        handler = nil
        link.close()
    }

    /// Drops the connection and subscribes again, after it was found out that it hears nothing.
    package func restart(because reason: String) {
        link.fail(.overdue(reason))
    }

    /// Whether every pattern and channel is confirmed.
    package var isReady: Bool {
        guard case .ready = phase else { return false }
        return true
    }

    /// When anything came last.
    package var lastInputAt: LoopInstant { link.lastInputAt }

    /// How long it waits before the next attempt, while it waits.
    package var retryDelay: Duration? { link.retryDelay }
}

// MARK: Subscribing

extension RedisSubscription {
    func linkEstablished(_ link: RedisLink) {
        groups.reset()
        joinError = nil
        guard let join else { return subscribe() }
        phase = .joining(since: link.loop.now)
        link.write(RedisCommand("MULTI"))
        link.write(join())
        // One command for each name: each then has one reply, as the reply to EXEC promises.
        for pattern in patterns { link.write(RedisCommand("PSUBSCRIBE", [pattern])) }
        for channel in channels { link.write(RedisCommand("SUBSCRIBE", [channel])) }
        link.write(RedisCommand("EXEC"))
    }

    private func subscribe() {
        phase = .subscribing(missing: patterns.count + channels.count, since: link.loop.now)
        if !patterns.isEmpty { link.write(RedisCommand("PSUBSCRIBE", patterns)) }
        if !channels.isEmpty { link.write(RedisCommand("SUBSCRIBE", channels)) }
    }

    private func receive(_ value: RESPValue) {
        switch phase {
        case .lost: break
        case .joining: joinReply(value)
        case .subscribing(let missing, let since): confirm(value, missing: missing, since: since)
        case .ready:
            // The answer to PING; anything else is an error of the server's.
            if let error = value.error { link.fail(error) }
        }
    }

    private func joinReply(_ value: RESPValue) {
        switch value {
        case .simple: break  // OK for MULTI, QUEUED for each command
        case .error:
            guard let error = value.error else { break }
            switch error.code {
            case "EXECABORT": subscribe()
            case "NOPERM": link.fail(error)
            default: joinError = joinError ?? error
            }
        case .array(let elements):
            let confirmations = elements.dropFirst()
            if let refusal = confirmations.lazy.compactMap(\.error).first { return link.fail(refusal) }
            guard confirmations.count == patterns.count + channels.count, let first = elements.first else {
                return link.fail(.invalidReply("EXEC was answered with \(elements.count) replies"))
            }
            becomeReady(joined: first.error.map { .failure($0) } ?? .success(first))
        default: link.fail(.invalidReply("EXEC was answered with something else"))
        }
    }

    private func confirm(_ value: RESPValue, missing: Int, since: LoopInstant) {
        if let error = value.error { return link.fail(error) }
        guard let kind = value[0]?.text, kind == "psubscribe" || kind == "subscribe" else {
            return link.fail(.invalidReply("a subscription was answered with something else"))
        }
        guard missing == 1 else { return phase = .subscribing(missing: missing - 1, since: since) }
        becomeReady(joined: joinError.map { .failure($0) })
    }

    private func becomeReady(joined: Result<RESPValue, RedisError>?) {
        phase = .ready(pingedAt: nil)
        handler?.subscriptionReady(self, joined: joined)
    }
}

// MARK: The link

extension RedisSubscription {
    func link(_ link: RedisLink, received bytes: RawSpan) {
        // The handler may close the subscription: this decoder lives on until it returns.
        let decoder = decoder
        let error = decoder.decode(bytes) { payload, channel, pattern in
            deliver(payload, channel, pattern)
            return link.isEstablished
        } other: { value in
            receive(value)
            return link.isEstablished
        }
        if let error, decoder === self.decoder { link.fail(error) }
    }

    private func deliver(_ payload: RawSpan, _ channel: RawSpan, _ pattern: RawSpan?) {
        guard case .ready = phase, groups.isFirst(channel: channel, pattern: pattern) else { return }
        handler?.subscription(self, message: payload, channel: channel, pattern: pattern)
    }

    func linkTick(_ link: RedisLink) {
        let now = link.loop.now
        let deadline = link.timings.replyDeadline
        switch phase {
        case .lost: break
        case .joining(let since), .subscribing(_, let since):
            if now - since > deadline { link.fail(.overdue("the subscription was not confirmed within \(deadline)")) }
        case .ready(let pingedAt):
            if let pingedAt, link.lastInputAt < pingedAt {
                if now - pingedAt > deadline { link.fail(.overdue("no sign of life within \(deadline)")) }
            } else if now - link.lastInputAt >= link.timings.idleInterval {
                link.write(RedisCommand("PING"))
                phase = .ready(pingedAt: now)
            }
        }
    }

    func linkLost(_ link: RedisLink, error: RedisError) {
        let wasReady = isReady
        phase = .lost
        decoder = MessageDecoder()
        handler?.subscriptionLost(self, error: wasReady && error == RedisLink.endedByServer ? Self.cut : error)
    }

    /// The usual reason why a server ends a subscription, which it never tells.
    private static let cut = RedisError.connection(
        .connection(
            "the server ended it, as it does when messages are larger or faster than its client-output-buffer-limit"
                + " for pubsub allows"
        )
    )
}
