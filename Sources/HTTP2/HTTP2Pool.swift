package import Transport

/// What a pool tells its owner; all calls are on the pool's loop, and requests may be submitted from within.
package protocol HTTP2PoolHandler: AnyObject {
    /// After a `submit` that was refused there is room again, or may be: try.
    func poolHasCapacity(_ pool: HTTP2Pool)
    func pool(_ pool: HTTP2Pool, request tag: Int, answered response: HTTP2Response)
    func pool(_ pool: HTTP2Pool, request tag: Int, failed failure: HTTP2Failure)
    func pool(_ pool: HTTP2Pool, event: HTTP2PoolEvent)
}

/// The body sizes of requests that found no room, of either kind, until there is.
private struct RefusedRequests {
    private(set) var small: Int?
    private(set) var bulk: Int?

    var isEmpty: Bool { small == nil && bulk == nil }

    mutating func add(_ bodyCount: Int, isBulk: Bool) {
        if isBulk { bulk = bodyCount } else { small = bodyCount }
    }

    /// Nothing waits but for a connection.
    mutating func addConnection() {
        if isEmpty { small = 0 }
    }

    mutating func remove(isBulk: Bool) {
        if isBulk { bulk = nil } else { small = nil }
    }
}

/// The connections to one host with one credential; confined to its loop.
///
/// Connects when there is something to send. Every submitted request ends in exactly one answer or failure. Keeps no
/// requests of its own: what finds no room stays with the owner, who is told when to try again. Lives until `close()`
/// or `drain()`.
package final class HTTP2Pool {
    package let endpoint: Endpoint
    package let options: HTTP2Options

    /// Connections with so few streams keep none of them free of bulk work.
    private static let fewStreams = 8

    let loop: EventLoop
    private var tls: TLSClientContext?
    /// Held until `close()`, or until a drain is over.
    private var handler: (any HTTP2PoolHandler)?
    private var state: HTTP2PoolState
    private var connections: [HTTP2ClientConnection] = []
    /// The place of the connection that took the last request.
    private var current = 0
    /// The sizes of the requests that were refused, until room for them is there.
    private var refused = RefusedRequests()
    private var isClosing = false
    /// The connection whose answer is being told.
    private var answering: HTTP2ClientConnection?
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
    ///
    /// Bulk work spares a tenth of the streams of one connection for what comes in between. It spares no part of the
    /// send window: credit comes sooner than answers, and whoever is told of room first sends what is urgent.
    package func submit(_ request: borrowing HTTP2Request, tag: Int, isBulk: Bool = false) -> Bool {
        loop.preconditionOnLoop()
        guard !isClosing else { return false }
        // At first where the whole body fits: the rest of one that does not waits for credit.
        if place(request, tag, fitting: request.bodyCount, isBulk) || place(request, tag, fitting: 0, isBulk) {
            if !refused.isEmpty { tookRequest(isBulk: isBulk) }
            return true
        }
        refused.add(request.bodyCount, isBulk: isBulk)
        perform(state.needsRoom(now: loop.now))
        return false
    }

    /// Submits to the connection that took the last request, else to the first that takes it.
    private func place(_ request: borrowing HTTP2Request, _ tag: Int, fitting size: Int, _ isBulk: Bool) -> Bool {
        if submit(request, tag, to: current, fitting: size, isBulk) { return true }
        for index in connections.indices where index != current {
            guard submit(request, tag, to: index, fitting: size, isBulk) else { continue }
            current = index
            return true
        }
        return false
    }

    private func submit(
        _ request: borrowing HTTP2Request,
        _ tag: Int,
        to index: Int,
        fitting size: Int,
        _ isBulk: Bool
    ) -> Bool {
        guard index < connections.count, connections[index].fits(bodyCount: size) else { return false }
        return connections[index].submit(request, tag: tag, sparing: isBulk ? sparedStreams(at: index) : 0)
    }

    /// The streams that bulk work spares: on the first connection that has many.
    private func sparedStreams(at index: Int) -> Int {
        let streams = connections[index].allowedStreams
        guard streams > Self.fewStreams,
            !connections[..<index].contains(where: { $0.allowedStreams > Self.fewStreams })
        else { return 0 }
        return max(1, streams / 10)
    }

    /// Connects unless there is a connection, or one is being made; `poolHasCapacity` comes when it is ready.
    package func connectIfNeeded() {
        loop.preconditionOnLoop()
        guard !isClosing, readyCount == 0 else { return }
        refused.addConnection()
        perform(state.needsRoom(now: loop.now))
    }

    /// Gives all connections up and makes others when they are needed, with another TLS context if one is given.
    ///
    /// For a key or certificate that was revoked or is new: providers bind a connection to what it began with. What is
    /// open is still answered. Pauses after failures end, for their cause may be gone.
    package func replaceConnections(tls: TLSClientContext? = nil) {
        loop.preconditionOnLoop()
        guard !isClosing else { return }
        if let tls { self.tls = tls }
        state.forgetFailures()
        for connection in connections {
            state.isDismissed(connection.identifier)
            connection.dismiss()
        }
        if !refused.isEmpty { perform(state.needsRoom(now: loop.now)) }
    }

    /// Takes no more requests; connections close when theirs are answered.
    package func drain() {
        loop.preconditionOnLoop()
        isClosing = true
        wakeTimer?.cancel()
        for connection in connections { connection.dismiss() }
        forgetIfDone()
    }

    /// Gives up the connection whose answer is being told, when those that are open have theirs; called within
    /// `pool(_:request:answered:)`.
    package func retireAnswering() {
        guard let answering, !isClosing else { return }
        state.isDismissed(answering.identifier)
        answering.dismiss()
    }

    /// Closes all connections at once; open requests fail, by the end of the turn.
    package func close() {
        loop.preconditionOnLoop()
        isClosing = true
        wakeTimer?.cancel()
        for connection in connections { connection.end("the pool was closed") }
        forgetIfDone()
    }

    private func tookRequest(isBulk: Bool) {
        refused.remove(isBulk: isBulk)
        if refused.isEmpty { state.foundRoom() }
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
            case .close(let identifier): connections.first { $0.identifier == identifier }?.dismiss()
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

    private func ended(_ identifier: Int, reason: String, wasReady: Bool, isDismissed: Bool = false) {
        let (pause, actions) = state.ended(identifier, now: loop.now, random: .random(in: 0..<1))
        if wasReady {
            handler?.pool(self, event: .closed(reason: reason))
        } else if !isDismissed {
            handler?.pool(self, event: .connectFailed(reason: reason, nextAttemptAfter: pause))
        }
        if !isClosing { perform(actions) }
        forgetIfDone()
    }
}

// MARK: What connections tell

extension HTTP2Pool {
    func connection(_ connection: HTTP2ClientConnection, request tag: Int, answered response: HTTP2Response) {
        answering = connection
        handler?.pool(self, request: tag, answered: response)
        answering = nil
    }

    func connection(_ connection: HTTP2ClientConnection, request tag: Int, failed failure: HTTP2Failure) {
        handler?.pool(self, request: tag, failed: failure)
    }

    func connection(_ connection: HTTP2ClientConnection, received goAway: HTTP2GoAway) {
        if goAway.errorCode == .enhanceYourCalm { state.isRebuked(connection.identifier) }
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
        guard !refused.isEmpty else { return }
        let hasSmall = refused.small.map { connection.canSubmit(bodyCount: $0) } ?? false
        let hasBulk = refused.bulk.map { hasRoom(connection, forBulkOf: $0) } ?? false
        guard hasSmall || hasBulk else { return }
        if hasSmall { refused.remove(isBulk: false) }
        if hasBulk { refused.remove(isBulk: true) }
        if refused.isEmpty { state.foundRoom() }
        handler?.poolHasCapacity(self)
    }

    private func hasRoom(_ connection: HTTP2ClientConnection, forBulkOf size: Int) -> Bool {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return false }
        return connection.canSubmit(bodyCount: size, sparing: sparedStreams(at: index))
    }

    func connection(_ connection: HTTP2ClientConnection, isSilent: Bool) {
        let actions = state.isSilent(connection.identifier, isSilent, now: loop.now)
        if isSilent { handler?.pool(self, event: .silent) }
        if !isClosing { perform(actions) }
    }

    func connectionEnded(_ connection: HTTP2ClientConnection, reason: String) {
        guard let index = connections.firstIndex(where: { $0 === connection }) else { return }
        connections.remove(at: index)
        current = 0
        let isDismissed = connection.isDismissed
        ended(connection.identifier, reason: reason, wasReady: connection.wasReady, isDismissed: isDismissed)
    }
}
