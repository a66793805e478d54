package import Encoding

/// A Google service account's key file: what Google needs to know who asks for an access token.
package struct FCMServiceAccount: Sendable {
    /// Why a text is no usable service account: the ends of sentences that begin with the setting's name.
    package struct Problems: Error, Equatable, Sendable {
        package let reasons: [String]
    }

    /// Google's endpoint, for files that name none.
    package static let standardTokenURI = "https://oauth2.googleapis.com/token"

    package let projectID: String
    package let clientEmail: String
    /// `kid` of the assertions.
    package let privateKeyID: String?
    /// RS256.
    package let key: SigningKey
    /// Where access tokens come from; https, or http on loopback.
    package let tokenURI: String

    /// Reads the JSON text, and says everything that is wrong with it.
    ///
    /// Its values are not repeated, except in names.
    package init(json: [UInt8]) throws(Problems) {
        let document: JSONDocument
        do {
            document = try JSONDocument(Self.withoutMark(json))
        } catch {
            throw Problems(reasons: ["is not JSON: \(error)"])
        }
        var reader = Reader(root: document.root)
        guard document.root.isObject else { throw Problems(reasons: ["is JSON, but not an object"]) }
        if let problem = reader.problemOfType { throw Problems(reasons: [problem]) }
        projectID = reader.text("project_id", isValid: Self.isProjectID)
        clientEmail = reader.text("client_email") { $0.contains("@") }
        privateKeyID = document.root["private_key_id"]?.string
        let tokenURI = document.root["token_uri"]?.string ?? Self.standardTokenURI
        if let problem = Self.problem(ofTokenURI: tokenURI) { reader.problems.append(problem) }
        self.tokenURI = tokenURI
        let key = reader.key()
        guard let key, reader.problems.isEmpty else { throw Problems(reasons: reader.problems) }
        self.key = key
    }

    /// What is wrong with the address of a token endpoint; nil: nothing.
    static func problem(ofTokenURI uri: String) -> String? {
        guard let url = URLParts(uri), url.userInfo == nil else { return "has a token_uri that is no URL" }
        switch url.scheme {
        case "https": return nil
        case "http" where url.isLoopback: return nil
        case "http":
            return
                "has a token_uri with http on the host \(Printable.value(url.host)); it must be https, or http on loopback"
        default: return "has a token_uri that is not https"
        }
    }

    /// It becomes a part of the path of each request.
    private static func isProjectID(_ text: String) -> Bool {
        text.utf8.count <= 100 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._:".contains($0)) }
    }

    private static func withoutMark(_ text: [UInt8]) -> [UInt8] {
        text.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(text.dropFirst(3)) : text
    }

    /// Reads the members and collects what is wrong.
    private struct Reader {
        let root: JSONValue
        var problems: [String] = []

        /// What other files of Google's people take for a service account.
        var problemOfType: String? {
            if root["installed"] != nil || root["web"] != nil {
                return "is an OAuth client's file, not a service account's"
            }
            if root["project_info"] != nil {
                return "is an app's google-services.json, not a service account's key file"
            }
            guard let type = root["type"]?.string, type != "service_account" else { return nil }
            return "has the type \(Printable.value(type)), not service_account"
        }

        mutating func text(_ name: StaticString, isValid: (String) -> Bool) -> String {
            guard let text = root[name]?.string, !text.isEmpty else {
                problems.append("has no \(name)")
                return ""
            }
            if !isValid(text) { problems.append("has a \(name) that cannot be one") }
            return text
        }

        mutating func key() -> SigningKey? {
            guard let text = root["private_key"]?.stringBytes, !text.isEmpty else {
                problems.append("has no private_key")
                return nil
            }
            do {
                return try SigningKey(text, .rs256)
            } catch {
                problems.append("has a private_key that \(error)")
                return nil
            }
        }
    }
}
