package import Transport

/// What a pool tells its owner; all calls are on the pool's loop, and requests may be submitted from within.
package protocol HTTP2PoolHandler: AnyObject {
    /// After a `submit` that was refused there is room again, or may be: try.
    func poolHasCapacity(_ pool: HTTP2Pool)
    func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response)
    func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure)
    func pool(_ pool: HTTP2Pool, event: HTTP2PoolEvent)
}

/// The connections to one host with one credential; confined to its loop.
///
/// Connects when there is something to send. Every submitted request ends in exactly one answer or failure. Keeps no
/// requests of its own: what finds no room stays with the owner, who is told when to try again. Lives until `close()`
/// or `drain()`.
package final class HTTP2Pool {
    package let endpoint: Endpoint
    package let options: HTTP2Options

    let loop: EventLoop
    private let tls: TLSClientContext?
    /// Held until `close()`, or until a drain is over.
    private var handler: (any HTTP2PoolHandler)?
    private var state: HTTP2PoolState
    private var connections: [HTTP2ClientConnection] = []
    /// The place of the connection that took the last request.
    private var current = 0
    /// The size of the request that was refused, until room for it is there.
    private var refusedBodyCount: Int?
    private var isClosing = false
    private var wakeTimer: LoopTimer?
    private var wakeMoment = LoopInstant(nanoseconds: .max)
    private var tidyTimer: LoopTimer?

    /// No connection is made before the first request or `connectIfNeeded()`.
    ///
    /// The TLS context must offer `h2`; without TLS the server must expect HTTP/2 (RFC 9113 section 3.3).
    package init(
        endpoint: Endpoint,
        tls: TLSClientContext?,
        options: HTTP2Options,
        on loop: EventLoop,
        handler: any HTTP2PoolHandler
    ) {
        self.endpoint = endpoint
        self.tls = tls
        self.options = options
        self.loop = loop
        self.handler = handler
        state = HTTP2PoolState(options: options)
    }

    /// Requests without an answer or failure.
    package var openCount: Int { connections.reduce(0) { $0 + $1.openCount } }

    /// Connections that take requests.
    package var readyCount: Int { connections.count { $0.phase == .ready } }

    /// How many requests with bodies of that many bytes can be submitted at once.
    package func capacity(forBodiesOf bodyCount: Int) -> Int {
        isClosing ? 0 : connections.reduce(0) { $0 + $1.room(forBodiesOf: bodyCount) }
    }

    /// How many requests of 4 KB, the most that providers take, can be submitted at once; of smaller ones it is more.
    package var capacity: Int { capacity(forBodiesOf: 4096) }

    /// Submits a request; false if there is no room now: `poolHasCapacity` comes when there is.
    package func submit(_ request: borrowing HTTP2Request, tag: Int) -> Bool {
        loop.preconditionOnLoop()
        guard !isClosing else { return false }
        if current < connections.count, connections[current].submit(request, tag: tag) {
            tookRequest()
            return true
        }
        for index in connections.indices where index != current {
            guard index < connections.count, connections[index].submit(request, tag: tag) else { continue }
            current = index
            tookRequest()
            return true
        }
        refusedBodyCount = request.bodyCount
        perform(state.needsRoom(now: loop.now))
        return false
    }

    /// Connects unless there is a connection, or one is being made; `poolHasCapacity` comes when it is ready.
    package func connectIfNeeded() {
        loop.preconditionOnLoop()
        guard !isClosing, readyCount == 0 else { return }
        refusedBodyCount = refusedBodyCount ?? 0
        perform(state.needsRoom(now: loop.now))
    }

    /// Takes no more requests; connections close when theirs are answered.
    package func drain() {
        loop.preconditionOnLoop()
        isClosing = true
        wakeTimer?.cancel()
        for connection in connections { connection.leave() }
        forgetIfDone()
    }

    /// Closes all connections at once; open requests fail, by the end of the turn.
    package func close() {
        loop.preconditionOnLoop()
        isClosing = true
        wakeTimer?.cancel()
        for connection in connections { connection.end("the pool was closed") }
        forgetIfDone()
    }

    private func tookRequest() {
        if refusedBodyCount != nil {
            refusedBodyCount = nil
            state.foundRoom()
        }
    }

    private func forgetIfDone() {
        guard isClosing, connections.isEmpty else { return }
        tidyTimer?.cancel()
        handler = nil
    }
}

// MARK: Decisions carried out

extension HTTP2Pool {
    private func perform(_ actions: [HTTP2PoolState.Action]) {
        for action in actions {
            switch action {
            case .open(let identifier): open(identifier)
            case .close(let identifier): connections.first { $0.identifier == identifier }?.leave()
            case .wake(let moment): wake(at: moment)
            }
        }
    }

    private func open(_ identifier: Int) {
        do {
            connections.append(try HTTP2ClientConnection(identifier, to: endpoint, tls: tls, pool: self))
        } catch {
            ended(identifier, reason: "\(error)", wasReady: false)
        }
    }

    private func wake(at moment: LoopInstant) {
        guard wakeTimer?.isPending != true || moment < wakeMoment else { return }
        wakeTimer?.cancel()
        wakeMoment = moment
        wakeTimer = loop.schedule(after: moment - loop.now) {
            guard !self.isClosing else { return }
            self.perform(self.state.wake(now: self.loop.now))
        }
    }

    /// While there are several connections, looks now and then whether they are needed.
    private func planTidy() {
        guard tidyTimer == nil, connections.count > 1 else { return }
        tidyTimer = loop.schedule(after: options.idleLifetime / 4) {
            self.tidyTimer = nil
            self.tidy()
            self.planTidy()
        }
    }

    private func tidy() {
        let actions = state.tidy(now: loop.now) { identifier in
            connections.first { $0.identifier == identifier && $0.openCount == 0 }?.lastUse
        }
        perform(actions)
    }

    private func ended(_ identifier: Int, reason: String, wasReady: Bool) {
        let (pause, actions) = state.ended(identifier, now: loop.now, random: .random(in: 0..<1))
        let event: HTTP2PoolEvent =
            wasReady ? .closed(reason: reason) : .connectFailed(reason: reason, nextAttemptAfter: pause)
        handler?.pool(self, event: event)
        if !isClosing { perform(actions) }
        forgetIfDone()
    }
}

// MARK: What connections tell

extension HTTP2Pool {
    func connection(_ connection: HTTP2ClientConnection, request tag: Int, answered response: HTTP2Response) {
        handler?.pool(self, request: tag, answered: response)
    }

    func connection(_ connection: HTTP2ClientConnection, request tag: Int, failed failure: HTTP2Failure) {
        handler?.pool(self, request: tag, failed: failure)
    }

    func connection(_ connection: HTTP2ClientConnection, received goAway: HTTP2GoAway) {
        handler?.pool(self, event: .goAway(goAway))
    }

    func connectionIsReady(_ connection: HTTP2ClientConnection, streams: Int) {
        state.becameReady(connection.identifier, now: loop.now)
        handler?.pool(self, event: .connected(streams: streams))
        planTidy()
    }

    func connectionIsProductive(_ connection: HTTP2ClientConnection) {
        state.becameProductive(connection.identifier)
    }

    func connectionIsProven(_ connection: HTTP2ClientConnection) {
        state.becameProven(connection.identifier)
    }

    func connectionIsLeaving(_ connection: HTTP2ClientConnection) {
        let actions = state.isLeaving(connection.identifier, now: loop.now)
        if !isClosing { perform(actions) }
    }

    /// The connection has read, or written: there may be room.
    func connectionProgressed(_ connection: HTTP2ClientConnection) {
        guard let wanted = refusedBodyCount, connection.canSubmit(bodyCount: wanted) else { return }
        refusedBodyCount = nil
        state.foundRoom()
        handler?.poolHasCapacity(self)
    }

    func connectionEnded(_ connection: HTTP2ClientConnection, reason: String) {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
        connections.remove(at: index)
        current = 0
        ended(connection.identifier, reason: reason, wasReady: connection.wasReady)
    }
}
