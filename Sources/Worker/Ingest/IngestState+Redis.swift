package import Transport

/// A message without a name: it was heard before any mark, or Redis has forgotten its stretch.
struct NamelessMessage {
    let number: Int
    let message: HeardMessage
    var isSent = false
}

/// A message to write to the queue under its name.
package struct IngestWrite: Sendable {
    /// What an answer belongs to.
    package struct Ticket: Sendable {
        let connection: Int
        let stretch: StretchID?
        let epoch: Int
        /// The message's number in its stretch, or among the nameless.
        let number: Int
        let bytes: Int
    }

    package let ticket: Ticket
    package let message: HeardMessage

    /// Nil: written as new, whatever the queue has.
    package var stretch: StretchID? { ticket.stretch }
    package var number: Int { message.number }
    /// What must be written before it: the number of the push message before it.
    package let previous: Int
}

/// A sign of life to Redis, about once a second: asks for the lease, or gives it up, and asks what is written.
package struct IngestBeat: Sendable {
    /// Whether the lease is wanted: not without a subscription, and not while stopping.
    package let isAble: Bool
    /// The stretches whose counts are asked for.
    package let stretches: [StretchID]
    let connection: Int
    let sentAt: LoopInstant
}

/// What Redis answers to a beat.
package struct IngestBeatAnswer: Equatable, Sendable {
    package enum Lease: Sendable {
        case free
        case mine
        case ofOther
    }

    package var lease: Lease
    /// The number of the newest mark.
    package var newestMark: Int64
    /// The mark that this beat has published.
    package var published: StretchID?
    /// In the order of the stretches asked for; nil: Redis has forgotten the stretch.
    package var counts: [Int?]

    /// The patterns of other groups that are at work.
    package var foreignPatterns: [String] = []

    package init(lease: Lease, newestMark: Int64, published: StretchID?, counts: [Int?]) {
        self.lease = lease
        self.newestMark = newestMark
        self.published = published
        self.counts = counts
    }
}

// MARK: - Beats

extension IngestState {
    /// The command connection is new, or was lost: nothing that was sent counts, and the counts are learned anew.
    package mutating func commandsReset() {
        connection += 1
        isInStep = false
        lease = nil
        unanswered = 0
        unansweredBytes = 0
        pausedUntil = nil
        for index in stretches.indices { stretches[index].rewind() }
        for index in nameless.indices { nameless[index].isSent = false }
    }

    package func beat(now: LoopInstant) -> IngestBeat {
        IngestBeat(
            isAble: isSubscribed && !isStopping,
            stretches: stretches.prefix(Self.maximumAsked).map(\.id),
            connection: connection,
            sentAt: now
        )
    }

    package mutating func answered(_ beat: IngestBeat, _ answer: IngestBeatAnswer, now: LoopInstant) {
        guard beat.connection == connection else { return }
        let isFirst = !isInStep
        isInStep = true
        lease = answer.lease
        announce(answer.newestMark, now: now)
        for (id, count) in zip(beat.stretches, answer.counts) {
            learn(count, of: id, isFirst: isFirst, from: beat, now: now)
        }
        dropEmptyStretches()
        forgetNameless(now: now)
        if isStopping, !beat.isAble {
            hasReleased = true
            if let published = answer.published { awaitMark(published) }
        }
    }

    /// Redis has told which mark is the newest.
    package mutating func announce(_ mark: Int64, now: LoopInstant) {
        if announced?.mark != mark { announced = (mark, now) }
    }

    private mutating func learn(_ count: Int?, of id: StretchID, isFirst: Bool, from beat: IngestBeat, now: LoopInstant)
    {
        guard let index = index(of: id) else { return }
        guard let count else { return becomeNameless(index) }
        if isFirst {
            stretches[index].learnAnew(count)
        } else {
            stretches[index].learn(count)
            bytes -= stretches[index].forget(shownBy: beat.sentAt - timing.retention)
        }
        stretches[index].addCheckpoint(at: now)
    }

    func index(of id: StretchID) -> Int? {
        stretches.lastIndex { $0.id == id }
    }
}

// MARK: - Writes

extension IngestState {
    package var isHolder: Bool { lease == .mine && isSubscribed && !isStopping }
    /// Whether what is heard is written at once, and not only when it is overdue.
    package var writesAtOnce: Bool { isHolder || isStopping }

    /// The next message to write now, if there is one; it counts as sent.
    package mutating func nextWrite(now: LoopInstant) -> IngestWrite? {
        guard isInStep, unanswered < Self.maximumUnanswered, unansweredBytes < Self.maximumUnansweredBytes else {
            return nil
        }
        if let pausedUntil {
            guard now >= pausedUntil else { return nil }
            self.pausedUntil = nil
        }
        for index in stretches.indices {
            guard let message = stretches[index].nextToSend else { continue }
            let age = now - message.heardAt
            guard writesAtOnce || age >= timing.overdue else { continue }
            var previous = message.previous
            if stretches[index].lacksPredecessor {
                // Another replica may remember what was lost, and writes it when it is overdue there.
                guard age >= timing.overdue * 2 else { continue }
                previous = stretches[index].known
            }
            let ticket = ticket(stretches[index].id, stretches[index].epoch, message.number, message.bytes)
            stretches[index].sentNext()
            return IngestWrite(ticket: ticket, message: message, previous: previous)
        }
        return nameless.isEmpty ? nil : nextNamelessWrite(now: now)
    }

    private mutating func ticket(
        _ stretch: StretchID?,
        _ epoch: Int,
        _ number: Int,
        _ bytes: Int
    ) -> IngestWrite.Ticket {
        unanswered += 1
        unansweredBytes += bytes
        return IngestWrite.Ticket(
            connection: connection,
            stretch: stretch,
            epoch: epoch,
            number: number,
            bytes: bytes
        )
    }

    /// Redis has answered with the stretch's count: at least the message's number when the message is written.
    ///
    /// Less: one before it was lost and comes first. Nil: Redis has forgotten the stretch.
    package mutating func answered(_ ticket: IngestWrite.Ticket, count: Int?) {
        guard take(ticket) else { return }
        guard let id = ticket.stretch else { return namelessWritten(ticket.number) }
        guard let index = index(of: id) else { return }
        guard let count else { return becomeNameless(index) }
        stretches[index].learn(count)
        if count < ticket.number, ticket.epoch == stretches[index].epoch { stretches[index].rewind() }
    }

    /// Redis has refused a write: all is written again a little later.
    package mutating func refused(_ ticket: IngestWrite.Ticket, now: LoopInstant) {
        guard take(ticket) else { return }
        pausedUntil = now + timing.refusalPause
        if let id = ticket.stretch {
            guard let index = index(of: id), ticket.epoch == stretches[index].epoch else { return }
            stretches[index].rewind()
        } else if let index = nameless.firstIndex(where: { $0.number == ticket.number }) {
            nameless[index].isSent = false
        }
    }

    private mutating func take(_ ticket: IngestWrite.Ticket) -> Bool {
        guard ticket.connection == connection else { return false }
        unanswered -= 1
        unansweredBytes -= ticket.bytes
        return true
    }
}

// MARK: - Messages without a name

extension IngestState {
    mutating func addNameless(_ message: HeardMessage) {
        nameless.append(NamelessMessage(number: nextNamelessNumber, message: message))
        nextNamelessNumber += 1
    }

    /// Redis has forgotten the stretch: what is not known to be written of it can only be written as new.
    private mutating func becomeNameless(_ index: Int) {
        let stretch = stretches.remove(at: index)
        for message in stretch.messages {
            if message.number > stretch.known { addNameless(message) } else { bytes -= message.bytes }
        }
    }

    private mutating func nextNamelessWrite(now: LoopInstant) -> IngestWrite? {
        // Who holds the lease hears what others hear, and has written it under its name.
        guard lease != .ofOther, let index = nameless.firstIndex(where: { !$0.isSent }) else { return nil }
        let message = nameless[index].message
        guard writesAtOnce || now - message.heardAt >= timing.overdue else { return nil }
        nameless[index].isSent = true
        return IngestWrite(
            ticket: ticket(nil, 0, nameless[index].number, message.bytes),
            message: message,
            previous: 0
        )
    }

    private mutating func namelessWritten(_ number: Int) {
        guard let index = nameless.firstIndex(where: { $0.number == number }) else { return }
        bytes -= nameless.remove(at: index).message.bytes
    }

    /// Another replica has held the lease all the time that a message was overdue: it has a name there.
    private mutating func forgetNameless(now: LoopInstant) {
        guard !nameless.isEmpty, lease == .ofOther else { return }
        nameless.removeAll { entry in
            let isOver = !entry.isSent && now - entry.message.heardAt >= timing.overdue
            if isOver { bytes -= entry.message.bytes }
            return isOver
        }
    }

    private mutating func awaitMark(_ mark: StretchID) {
        awaitedMark = newestHeardMark >= mark.number ? nil : mark.number
    }
}
