import Encoding
import Transport
import Worker

/// The answers to `/healthz` and `/readyz`.
///
/// Both functions may block for a moment, and are called on the HTTP server's thread.
struct Probes: Sendable {
    /// Whether the worker's loop goes round.
    let isTurning: @Sendable () -> Bool
    /// What the worker says of itself; nil when it does not answer.
    let readiness: @Sendable () -> Readiness?

    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
        guard let answer = path(request.path) else {
            return Self.text(404, "there is no \(Printable.value(request.path)) here: try /healthz or /readyz")
        }
        guard ["GET", "HEAD"].contains(request.method) else {
            let method = Printable.value(request.method)
            var response = Self.text(405, "\(method) is not for this path: use GET")
            response.headers.append((name: "allow", value: "GET, HEAD"))
            return response
        }
        return answer()
    }

    private func path(_ path: String) -> (() -> HTTPServerResponse)? {
        switch path {
        case "/healthz": health
        case "/readyz": ready
        default: nil
        }
    }

    private func health() -> HTTPServerResponse {
        isTurning() ? Self.text(200, "ok") : Self.text(503, "the worker's loop stands still")
    }

    private func ready() -> HTTPServerResponse {
        let readiness = readiness() ?? Readiness(problems: ["the worker's loop stands still"])
        var json = JSONWriter()
        json.beginObject()
        json.key("ready")
        json.bool(readiness.isReady)
        for (name, sentences) in [("problems", readiness.problems), ("notices", readiness.notices)] {
            guard !sentences.isEmpty else { continue }
            json.key(name)
            json.beginArray()
            for sentence in sentences { json.string(Printable.escaped(sentence)) }
            json.endArray()
        }
        json.endObject()
        var response = Self.text(readiness.isReady ? 200 : 503, "")
        response.contentType = "application/json"
        response.body = json.bytes + [0x0A]
        return response
    }

    private static func text(_ status: Int, _ text: String) -> HTTPServerResponse {
        HTTPServerResponse(
            status: status,
            headers: [(name: "cache-control", value: "no-store")],
            body: Array((text + "\n").utf8)
        )
    }
}
