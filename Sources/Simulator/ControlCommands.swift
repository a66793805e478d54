import Encoding
import Transport

/// The control interface: what came, and how to answer from now on.
///
/// `GET /received` (JSON lines; `?from=N` without the first N), `GET /stats`, `POST /reset`, `POST /script` (a JSON
/// array of rules), `POST /conduct` (see ``Conduct``), `GET /tally`, `POST /connections/drop` (also `/reset`, `/mute`),
/// `POST /connections/goaway`, `POST /connections/streams?limit=N`.
/// Called on the HTTP server's threads.
struct ControlCommands: Sendable {
    private static let deadline = Duration.seconds(30)

    let state: LoopConfined<StandInState>
    let loop: EventLoop

    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
        let answer = loop.wait(within: Self.deadline) { perform(request, state.value) }
        return answer ?? Self.text(503, "the simulator does not answer")
    }

    private func perform(_ request: HTTPServerRequest, _ state: StandInState) -> HTTPServerResponse {
        switch (request.method, request.path) {
        case ("GET", "/received"):
            let start = request.query.first { $0.name == "from" }.map { Int($0.value) ?? -1 } ?? 0
            guard start >= 0 else { return Self.text(400, "from must be a number of lines") }
            let lines = state.oracle.text(from: start)
            return HTTPServerResponse(status: 200, contentType: "application/x-ndjson", body: lines)
        case ("GET", "/stats"):
            return HTTPServerResponse(status: 200, contentType: "application/json", body: Self.statistics(state))
        case ("POST", "/reset"):
            state.oracle.reset()
            state.script = Script()
            state.conduct = Conduct()
            state.tally?.reset()
            for arrivals in state.arrivals.values { arrivals.reset() }
        case ("POST", "/script"):
            return set(request.body) { body throws(Script.Fault) in state.script = try Script(body) }
        case ("POST", "/conduct"):
            return set(request.body) { body throws(Script.Fault) in state.conduct = try Conduct(body) }
        case ("GET", "/tally"):
            guard let tally = state.tally else { return Self.text(400, "the simulator was started without --tally") }
            return HTTPServerResponse(status: 200, contentType: "application/json", body: tally.text)
        case ("POST", "/connections/drop"), ("POST", "/connections/reset"), ("POST", "/connections/mute"):
            let cut = Conduct.Cut(rawValue: String(request.path.dropFirst("/connections/".count))) ?? .drop
            for connection in state.connections { connection.cut(cut) }
        case ("POST", "/connections/goaway"):
            for connection in state.connections { connection.goAway(debugData: request.body) }
        case ("POST", "/connections/streams"):
            guard let limit = request.query.first(where: { $0.name == "limit" }).flatMap({ UInt32($0.value) }) else {
                return Self.text(400, "limit must be a number of streams")
            }
            for connection in state.connections { connection.setStreamLimit(limit) }
        default:
            return Self.text(404, "there is no \(request.method) \(Printable.value(request.path)) here")
        }
        return Self.text(200, "done")
    }

    private func set(_ body: [UInt8], _ change: ([UInt8]) throws(Script.Fault) -> Void) -> HTTPServerResponse {
        do throws(Script.Fault) {
            try change(body)
            return Self.text(200, "done")
        } catch {
            return Self.text(400, error.description)
        }
    }

    private static func statistics(_ state: StandInState) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        for name in ["apns", "fcm", "token"] {
            json.key(name)
            json.integer(state.arrivals[name]?.count ?? 0)
        }
        let pushes = ["apns", "fcm"].compactMap { state.arrivals[$0] }
        if let first = pushes.compactMap(\.first).min(), let last = pushes.compactMap(\.last).max() {
            json.key("first_us")
            json.integer(first)
            json.key("last_us")
            json.integer(last)
        }
        json.key("connections")
        json.integer(state.connections.count)
        json.key("opened")
        json.integer(state.openedCount)
        json.key("forgotten")
        json.integer(state.oracle.forgotten)
        json.endObject()
        return json.bytes
    }

    private static func text(_ status: Int, _ text: String) -> HTTPServerResponse {
        HTTPServerResponse(status: status, contentType: "text/plain; charset=utf-8", body: Array((text + "\n").utf8))
    }
}
