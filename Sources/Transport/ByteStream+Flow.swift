import Glibc

// How often one stream reads in one turn before the others have their turn.
private let readsPerTurn = 4

// MARK: Readiness

extension ByteStream {
    func descriptorReady(_ events: PollEvents) {
        switch phase {
        case .handshaking:
            continueHandshake()
        case .open, .finishing:
            if events.contains(.output) { becameWritable() }
            let isReadable = !events.isDisjoint(with: [.input, .peerEnded, .hangUp, .error])
            guard isReadable, phase != .closed else { return }
            if isReadingPaused { endedWhilePaused(events) } else { read() }
        case .connecting, .closed:
            break
        }
    }

    var wantedInterest: PollEvents {
        var wanted: PollEvents = isReadingPaused && phase != .handshaking ? [] : [.input, .peerEnded]
        if isOutputBlocked || inputWantsOutput { wanted.insert(.output) }
        return wanted
    }

    func updateInterest() {
        guard phase != .closed, phase != .connecting, let number = descriptor?.number else { return }
        let wanted = wantedInterest
        do {
            if let token {
                guard wanted != interest else { return }
                try loop.poller.change(number, wanted, token)
            } else {
                token = try loop.poller.add(number, wanted, self)
            }
            interest = wanted
        } catch {
            deferredFailure = error
            planFlush()
        }
    }

    /// Epoll reports the end even if it was not asked for.
    ///
    /// A lost connection is told at once; after an orderly end the socket leaves the poller until reading goes on, for
    /// what the peer sent before is still to be read.
    private func endedWhilePaused(_ events: PollEvents) {
        guard let number = descriptor?.number, let token else { return }
        let code = events.contains(.error) ? Socket.pendingError(number) : 0
        guard code == 0 else { return finish(.connection(systemErrorText(code))) }
        guard events.contains(.hangUp) else { return }
        loop.poller.remove(number, token)
        self.token = nil
    }
}

// MARK: Input

extension ByteStream {
    /// Reads on in the next turn, for bytes that epoll cannot see.
    func planRead() {
        guard tls != nil, !isReadPlanned else { return }
        isReadPlanned = true
        loop.readInNextTurn(self)
    }

    func readOn() {
        isReadPlanned = false
        guard phase == .open || phase == .finishing, !isReadingPaused else { return }
        read()
    }

    private func read() {
        for _ in 0..<readsPerTurn {
            guard let number = descriptor?.number else { return }
            let transfer = tls.map { loop.readBuffer.fill(from: $0) } ?? loop.readBuffer.fill(from: number)
            if transfer.count > 0, phase == .open {
                loop.readBuffer.withBytes(transfer.count) { handler.byteStream(self, received: $0) }
            }
            guard phase == .open || phase == .finishing else { return }
            guard inputGoesOn(transfer.end) else { return }
            if isReadingPaused { return }
        }
        planRead()
    }

    /// False if reading has to wait, or the stream has ended.
    private func inputGoesOn(_ end: Transfer.End) -> Bool {
        switch end {
        case .none:
            return true
        case .blocked:
            if inputWantsOutput {
                inputWantsOutput = false
                updateInterest()
            }
            // TLS may have been waiting for this input to go on writing.
            if tls != nil, !output.isEmpty, !isOutputBlocked { planFlush() }
            return false
        case .wantsOpposite:
            inputWantsOutput = true
            updateInterest()
            return false
        case .ended:
            finish(nil)
            return false
        case .failed(let error):
            finish(error)
            return false
        }
    }
}

// MARK: Output

extension ByteStream {
    func planFlush() {
        guard !isFlushPlanned, phase != .closed else { return }
        isFlushPlanned = true
        loop.flushAtEndOfTurn(self)
    }

    func flushAtEndOfTurn() {
        isFlushPlanned = false
        guard phase == .open || phase == .finishing else { return }
        if let failure = deferredFailure ?? (isOutputBlocked ? nil : send()) { return finishAfterInput(failure) }
        if phase == .finishing, output.isEmpty { endOutput() }
        reportDrained()
    }

    /// Ends the stream when it has told what the peer sent before it stopped listening.
    private func finishAfterInput(_ failure: TransportError) {
        // At most what the system holds for a connection that is over.
        for _ in 0..<256 where phase == .open && !isReadingPaused {
            guard let number = descriptor?.number else { return }
            let transfer = tls.map { loop.readBuffer.fill(from: $0) } ?? loop.readBuffer.fill(from: number)
            guard transfer.count > 0 else { break }
            loop.readBuffer.withBytes(transfer.count) { handler.byteStream(self, received: $0) }
        }
        finish(failure)
    }

    private func becameWritable() {
        isOutputBlocked = false
        if inputWantsOutput {
            inputWantsOutput = false
            read()
        }
        guard phase == .open || phase == .finishing else { return }
        updateInterest()
        planFlush()
    }

    /// Hands as much as possible to the system; calls no handler.
    func send() -> TransportError? {
        if let staleness, !output.isEmpty, LoopInstant.current - min(blockedSince ?? loop.now, loop.now) > staleness {
            return .connection("this process stood still, and what it had to say is out of date")
        }
        while !output.isEmpty {
            guard let number = descriptor?.number else { return nil }
            let transfer = tls.map { $0.write(output) } ?? output.send(to: number)
            output.consume(transfer.count)
            if transfer.count > 0 { blockedSince = nil }
            switch transfer.end {
            case .none: continue
            case .blocked:
                isOutputBlocked = true
                blockedSince = blockedSince ?? LoopInstant.current
                updateInterest()
                return nil
            case .wantsOpposite: return nil
            case .ended: return .connection("the peer has ended the TLS connection")
            case .failed(let error): return error
            }
        }
        return nil
    }

    private func endOutput() {
        guard !hasEndedOutput, let number = descriptor?.number else { return }
        hasEndedOutput = true
        tls?.sendClose()
        shutdown(number, Int32(SHUT_WR))
    }

    private func reportDrained() {
        guard isOverHighWater, output.count <= lowWaterBytes, phase == .open else { return }
        isOverHighWater = false
        handler.byteStreamDrained(self)
    }
}
