/// What a run of requests has in common: the headers, prepared once, and the body if it is the same for all.
///
/// Method POST and scheme https. Never changed once made; confined to the loop of the sessions it is used with,
/// which keep it alive while they need it.
package final class HTTP2RequestTemplate {
    /// The body of requests that bring none of their own.
    package let body: [UInt8]
    /// How many values each request brings, in the order of the names.
    package let varyingCount: Int

    let headers: HeaderBlock
    /// The place of `:path`, the last of the pseudo-headers; the varying headers are the last of all.
    let pathIndex: Int

    /// All must be fit for HTTP/2, which `HTTP2HeaderField.validate()` tells; a peer refuses a request with others.
    package init(
        authority: String,
        headers: [(name: String, value: [UInt8])],
        varying names: [String] = [],
        body: [UInt8] = []
    ) {
        // Pseudo-headers come first (RFC 9113 section 8.3).
        let pseudo = [
            HTTP2HeaderField(":method", "POST"), HTTP2HeaderField(":scheme", "https"),
            HTTP2HeaderField(":authority", authority), HTTP2HeaderField(":path", ""),
        ]
        let constant = headers.map { HTTP2HeaderField($0.name, $0.value) }
        self.headers = HeaderBlock(pseudo + constant + names.map { HTTP2HeaderField($0, "") })
        self.body = body
        pathIndex = pseudo.count - 1
        varyingCount = names.count
    }

    /// The place of the first varying header in the block.
    var varyingIndex: Int { headers.count - varyingCount }
}

/// One request: a template and what is its own.
///
/// A caller keeps one and changes `path` and `values` in place from push to push: then nothing is allocated.
package struct HTTP2Request {
    package var template: HTTP2RequestTemplate
    /// The whole `:path`.
    package var path: [UInt8]
    /// The values of the template's varying headers, in their order; must be free of control characters.
    package var values: [[UInt8]]
    /// Nil: the template's body.
    package var body: [UInt8]?

    package init(_ template: HTTP2RequestTemplate, path: [UInt8], values: [[UInt8]] = [], body: [UInt8]? = nil) {
        self.template = template
        self.path = path
        self.values = values
        self.body = body
    }

    /// How many bytes of the send window the request takes.
    package var bodyCount: Int { body?.count ?? template.body.count }
}
