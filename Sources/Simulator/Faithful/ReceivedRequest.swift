/// A request as a stand-in sees it: pseudo-headers apart, header names in lower case.
package struct ReceivedRequest: Sendable {
    package let method: String
    /// The host that the client named, perhaps with its port.
    package let authority: String
    package let path: String
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    package init(
        method: String,
        authority: String = "",
        path: String,
        headers: [(name: String, value: String)],
        body: [UInt8]
    ) {
        self.method = method
        self.authority = authority
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// The value of the first header of a name.
    package func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    /// Whether a header is there more than once.
    package func repeats(_ name: String) -> Bool {
        headers.count { $0.name == name } > 1
    }
}
