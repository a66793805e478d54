import Redis
import Transport

extension Ingest {
    /// Looks several times a second whether something is due.
    func look() {
        timer = loop.schedule(after: Self.tick) { [weak self] in self?.look() }
        if let subscription, state.isDeaf(now: loop.now, lastInput: subscription.lastInputAt) {
            subscription.restart(because: "it does not hear the marks that are published")
        }
        probeInSilence()
        work()
    }

    /// When nothing comes back over either connection, asks over a third whether Redis works.
    private func probeInSilence() {
        if let probe, loop.now - probe.startedAt > Self.probePatience { endProbe() }
        guard probe == nil, state.isSubscribed, isBeating, let subscription, let lastBeatAt,
            loop.now - lastBeatAt >= Self.beatInterval * 3 / 4,
            loop.now - subscription.lastInputAt >= Self.beatInterval * 7 / 4
        else { return }
        probe = MarkProbe(
            redisSettings,
            name: name,
            key: keys.ingest,
            arguments: arguments(of: state.beat(now: loop.now), asking: []),
            on: loop
        ) { [weak self] answer in
            guard let self else { return }
            endProbe()
            state.announce(answer.newestMark, now: loop.now)
            // Redis would have carried out the beat before it.
            if isBeating, self.lastBeatAt == lastBeatAt { redis.restart(because: "a beat was not answered") }
        }
    }

    func endProbe() {
        probe?.close()
        probe = nil
    }

    func work() {
        let isDue = lastBeatAt.map { loop.now - $0 >= Self.beatInterval - Self.tick / 2 } ?? true
        if isBeatWanted || (isDue && !isSettled) { beat() }
        write()
        leaveIfDone()
    }

    /// Everything up to the own mark was heard, or nothing can be asked any more.
    private func leaveIfDone() {
        guard state.isStopping, !hasLeft, state.mayUnsubscribe || !redis.isReady else { return }
        hasLeft = true
        subscription?.close()
        subscription = nil
        state.subscriptionLost()
        write()
    }

    func beat() {
        isBeatWanted = true
        guard redis.isReady, !isBeating else { return }
        isBeatWanted = false
        isBeating = true
        lastBeatAt = loop.now
        let beat = state.beat(now: loop.now)
        let arguments = arguments(of: beat, asking: beat.stretches)
        redis.evaluate(IngestScripts.beat, keys: [keys.ingest], arguments: arguments) { [weak self] result in
            self?.answered(beat, result)
        }
    }

    private func arguments(of beat: IngestBeat, asking stretches: [StretchID]) -> [[UInt8]] {
        [
            Array(name.utf8), Array((beat.isAble ? "able" : "free").utf8), Self.suffix(), Array(group.hash.utf8), marks,
            Array(group.patterns.utf8.prefix(256)), Array("\(Self.lease.wholeMilliseconds)".utf8),
        ] + stretches.map(group.field)
    }

    private func answered(_ beat: IngestBeat, _ result: Result<RESPValue, RedisError>) {
        isBeating = false
        guard beat.connection == state.connection else { return }
        switch result {
        case .success(let reply):
            guard let answer = IngestBeatAnswer(reply) else {
                return refused("a beat was answered with something else")
            }
            state.answered(beat, answer, now: loop.now)
            if state.isSettled { refusal = nil }
            note(foreign: answer.foreignPatterns)
            if isListening { whenListening() }
            work()
        case .failure(.server(_, let text)): refused(text)
        case .failure: state.commandsReset()
        }
    }

    func write() {
        while let write = state.nextWrite(now: loop.now) { send(write) }
    }

    private func send(_ write: IngestWrite) {
        if write.stretch == nil { wroteNameless(write) }
        let received = now() - (loop.now - write.message.heardAt).wholeMilliseconds
        let field = write.stretch.map(fieldBytes) ?? []
        let ticket = write.ticket
        redis.evaluate(IngestScripts.write, capacity: write.message.bytes + 256) { [keys = writeKeys] command in
            command.append(keys.count)
            for key in keys { command.append(key) }
            command.append(field)
            command.append(write.previous)
            command.append(write.number)
            command.append(write.message.channel)
            command.append(write.message.message)
            command.append(received)
            command.append(write.stretch?.messageID(write.number) ?? "")
        } _: { [weak self] result in
            self?.answered(ticket, result)
        }
    }

    private func answered(_ ticket: IngestWrite.Ticket, _ result: Result<RESPValue, RedisError>) {
        switch result {
        case .success(let reply):
            let count = reply.integer.flatMap { $0 < 0 ? nil : Int(exactly: $0) }
            // Fewer than its number: one before it was refused.
            if let count, count >= ticket.number || ticket.stretch == nil { refusal = nil }
            state.answered(ticket, count: count)
            write()
            if state.isStopping { leaveIfDone() }
        case .failure(.server(_, let text)):
            state.refused(ticket, now: loop.now)
            refused(text)
        case .failure:
            // One is enough for all that were sent before it.
            if ticket.connection == state.connection { state.commandsReset() }
        }
    }

    /// Redis answers, but does not do it now (out of memory, a replica); it is tried again a little later.
    private func refused(_ text: String) {
        if refusal == nil { log.error("Redis does not take messages into the queue", ["error": text]) }
        refusal = text
    }

    private func wroteNameless(_ write: IngestWrite) {
        counters.nameless += 1
        log.warning(
            "a message without a name is written as new; it may be there already",
            ["channel": write.message.channel]
        )
    }

    private func note(foreign patterns: [String]) {
        guard patterns != foreignPatterns else { return }
        foreignPatterns = patterns
        if let notice { log.warning("what is heard differs among the workers", ["notice": notice]) }
    }

    private func fieldBytes(_ stretch: StretchID) -> [UInt8] {
        if let field, field.stretch == stretch { return field.bytes }
        let bytes = group.field(stretch)
        field = (stretch, bytes)
        return bytes
    }

    static func suffix() -> [UInt8] {
        Array("\(UInt32.random(in: 1...UInt32.max))".utf8)
    }
}
