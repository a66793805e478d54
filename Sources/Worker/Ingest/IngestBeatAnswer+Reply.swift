package import Redis

extension IngestBeatAnswer {
    /// Reads the reply to the script `beat`; nil if it is of another form.
    package init?(_ reply: RESPValue) {
        guard let elements = reply.elements, elements.count >= 4, let mark = elements[1].integer else { return nil }
        switch elements[0].integer {
        case 0: lease = .free
        case 1: lease = .mine
        case 2: lease = .ofOther
        default: return nil
        }
        newestMark = mark
        published = elements[2].text.flatMap { StretchID($0) }
        foreignPatterns = elements[3].elements?.compactMap(\.text) ?? []
        counts = elements.dropFirst(4).map { element in
            element.integer.flatMap { $0 < 0 ? nil : Int(exactly: $0) }
        }
    }
}
