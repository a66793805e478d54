import Encoding
import Testing
import Transport
import Worker

@testable import Gateway

@Suite("What health and readiness answer")
struct ProbesTests {
    private static func answer(
        _ method: String,
        _ path: String,
        isTurning: Bool = true,
        readiness: Readiness? = Readiness()
    ) -> HTTPServerResponse {
        let request = HTTPServerRequest(method: method, path: path)
        return Probes(isTurning: { isTurning }, readiness: { readiness }).answer(request)
    }

    @Test("Health is whether the loop turns, whatever else is wrong")
    func health() {
        #expect(Self.answer("GET", "/healthz", readiness: Readiness(problems: ["x"])).status == 200)
        #expect(Self.answer("HEAD", "/healthz").status == 200)
        #expect(Self.answer("GET", "/healthz", isTurning: false).status == 503)
    }

    @Test("Readiness names every problem, and notices that do no harm")
    func readiness() throws {
        let ready = Self.answer("GET", "/readyz", readiness: Readiness(notices: ["n"]))
        #expect(ready.status == 200)
        #expect(ready.contentType == "application/json")
        #expect(ready.body == Array(#"{"ready":true,"notices":["n"]}"#.utf8) + [0x0A])
        let problems = Readiness(problems: ["first\u{1B}", "second"], notices: ["n"])
        let unready = Self.answer("GET", "/readyz", readiness: problems)
        #expect(unready.status == 503)
        let json = try JSONDocument(unready.body).root
        #expect(json["ready"]?.bool == false)
        #expect(json["problems"]?.elements.map(\.string) == [#"first\u{1B}"#, "second"])
        #expect(json["notices"]?.elements.map(\.string) == ["n"])
        let still = Self.answer("GET", "/readyz", readiness: nil)
        #expect(still.status == 503)
        #expect(try JSONDocument(still.body).root["problems"]?[0]?.string == "the worker's loop stands still")
    }

    @Test(
        "Other paths are not there, other methods are not for these",
        arguments: [
            ("GET", "/", 404), ("GET", "/healthz/", 404), ("POST", "/nothing", 404), ("GET", "/\u{1B}", 404),
            ("POST", "/healthz", 405), ("DELETE", "/readyz", 405), ("OPTIONS", "/readyz", 405),
        ]
    )
    func others(method: String, path: String, status: Int) {
        let answer = Self.answer(method, path)
        #expect(answer.status == status)
        #expect(!answer.body.contains(0x1B))
        #expect(answer.headers.contains { $0 == ("allow", "GET, HEAD") } == (status == 405))
    }
}
