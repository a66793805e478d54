import Encoding

/// An object of an FCM message in the making: members by name, of which some came as they are and some are ours.
struct FCMObject {
    private(set) var members: [(name: String, node: FCMNode)] = []

    init() {}

    /// Takes the members of a published object apart; of repeated names the last counts, nulls are left out.
    init(_ value: JSONValue, keepsNulls: Bool = false) {
        for member in Self.lastMembers(of: value) where keepsNulls || !member.value.isNull {
            members.append((member.key.string ?? "", .json(member.value, keepsNulls: keepsNulls)))
        }
    }

    /// The members of an object, of repeated names only the last.
    static func lastMembers(of value: JSONValue) -> [JSONMember] {
        let members = Array(value.members)
        guard members.count > 1 else { return members }
        var names: Set<[UInt8]> = []
        var last: [JSONMember] = []
        for member in members.reversed() where names.insert(member.key.stringBytes ?? []).inserted {
            last.append(member)
        }
        return last.reversed()
    }

    var isEmpty: Bool { members.isEmpty }

    subscript(_ name: String) -> FCMNode? {
        members.first { $0.name == name }?.node
    }

    /// Adds a member without a look at those that are there.
    mutating func append(_ name: String, _ node: FCMNode) {
        members.append((name, node))
    }

    /// Puts a member in the place of the one of its name, or at the end.
    mutating func set(_ name: String, _ node: FCMNode) {
        if let place = members.firstIndex(where: { $0.name == name }) {
            members[place].node = node
        } else {
            append(name, node)
        }
    }

    /// Puts a value at a path of names, making objects on the way.
    ///
    /// False when there is a value already, in snake case or camel case, or when something on the way is no object.
    mutating func insert(_ node: FCMNode, at path: ArraySlice<String>) -> Bool {
        guard let name = path.first else { return false }
        let camelCase = Self.camelCase(name)
        let place = members.firstIndex { $0.name == name || $0.name == camelCase }
        guard path.count > 1 else {
            guard place == nil else { return false }
            append(name, node)
            return true
        }
        var object = FCMObject()
        if let place {
            guard let opened = members[place].node.opened else { return false }
            object = opened
        }
        guard object.insert(node, at: path.dropFirst()) else { return false }
        if let place {
            members[place].node = .object(object)
        } else {
            append(name, .object(object))
        }
        return true
    }

    /// How Google's JSON mapping spells a field otherwise: `collapse_key` is `collapseKey` as well.
    private static func camelCase(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        let words = name.split(separator: "_")
        return words.dropFirst().reduce(into: String(words.first ?? "")) {
            $0 += $1.prefix(1).uppercased() + $1.dropFirst()
        }
    }

    func write(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        writeMembers(to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    /// The members without the braces.
    func writeMembers(to bytes: inout [UInt8]) {
        var isFirst = true
        for (name, node) in members {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            JSONWriter.appendText(name.utf8.span, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            node.write(to: &bytes)
        }
    }
}

/// A value of an FCM message in the making.
enum FCMNode {
    /// As published; without null members unless they are kept.
    case json(JSONValue, keepsNulls: Bool)
    /// JSON that we made.
    case bytes([UInt8])
    /// Something that we changed, or may change.
    case object(FCMObject)

    /// A JSON text that says this.
    static func text(_ said: [UInt8]) -> FCMNode {
        var bytes: [UInt8] = []
        JSONWriter.appendText(said.span, to: &bytes)
        return .bytes(bytes)
    }

    /// The value as a text: itself if it is one, else its JSON.
    static func text(of value: JSONValue) -> FCMNode {
        value.isString ? .json(value, keepsNulls: true) : .text(Array(value.text))
    }

    /// The members, to add to them; nil when it is no object.
    var opened: FCMObject? {
        switch self {
        case .object(let object): object
        case .json(let value, let keepsNulls): value.isObject ? FCMObject(value, keepsNulls: keepsNulls) : nil
        case .bytes: nil
        }
    }

    func write(to bytes: inout [UInt8]) {
        switch self {
        case .json(let value, keepsNulls: true): bytes.append(contentsOf: value.text)
        case .json(let value, keepsNulls: false): value.appendWithoutNullMembers(to: &bytes)
        case .bytes(let json): bytes.append(contentsOf: json)
        case .object(let object): object.write(to: &bytes)
        }
    }
}
